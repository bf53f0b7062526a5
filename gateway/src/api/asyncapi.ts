/** The events as an AsyncAPI 3 document, generated from the schemas with which producers and consumers validate. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import { cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import { z } from 'zod';
import { toClientSchema } from './client-schemas.ts';
import { API_VERSION } from './openapi-merge.ts';
import type { Json, Schema } from './schema.ts';

export type AsyncApiDocument = ReturnType<typeof asyncApiDocument>;

const CONTENT_TYPE = 'application/cloudevents+json';

const schemaOf = (schema: z.ZodType): Schema => {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema) as Schema;
  return toClientSchema(json, 'response');
};

/** The payload is the envelope with the `type` and `data` of the event. */
const messageOf = ({ type, summary = type, data, consumers = [] }: EventDefinition) => ({
  name: type,
  title: type,
  summary,
  contentType: CONTENT_TYPE,
  payload: {
    allOf: [
      { $ref: '#/components/schemas/CloudEvent' },
      {
        type: 'object',
        properties: { type: { type: 'string', const: type }, data: schemaOf(data) },
        required: ['type', 'data'],
      },
    ],
  },
  /** The services with a queue for the event. */
  'x-consumers': consumers,
});

const channelOf = ({ type, summary = type }: EventDefinition): Json => ({
  address: type,
  description: summary,
  messages: { [type]: { $ref: `#/components/messages/${type}` } },
  bindings: { amqp: { is: 'routingKey', exchange: { type: 'topic', durable: true } } },
});

/** `identity.account.deleted` → `identity`, `store_billing.…` → `store-billing` */
const producerOf = ({ type }: EventDefinition): string => (type.split('.')[0] ?? '').replaceAll('_', '-');

const operationsOf = (event: EventDefinition): [string, Json][] => {
  const { type, consumers = [] } = event;
  const channel = { $ref: `#/channels/${type}` };
  const messages = [{ $ref: `#/channels/${type}/messages/${type}` }];
  const tagged = (service: string): Json => [{ name: service }];
  return [
    [`send.${type}`, { action: 'send', channel, messages, tags: tagged(producerOf(event)) }],
    ...consumers.map((service): [string, Json] => [
      `receive.${type}.${service}`,
      { action: 'receive', channel, messages, tags: tagged(service) },
    ]),
  ];
};

export const asyncApiDocument = () => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Fitness platform events',
    version: API_VERSION,
    description:
      'The events that the services publish to each other over RabbitMQ, as CloudEvents 1.0 in JSON. The routing key is the ' +
      '`type` of the event. An event may be delivered more than once; its `id` stays the same. `aggregateversion` increases ' +
      'with each change of the aggregate. Fields are added, never renamed or reused.',
  },
  defaultContentType: CONTENT_TYPE,
  channels: Object.fromEntries(EVENTS.map((event) => [event.type, channelOf(event)])),
  operations: Object.fromEntries(EVENTS.flatMap(operationsOf)),
  components: {
    messages: Object.fromEntries(EVENTS.map((event) => [event.type, messageOf(event)])),
    schemas: { CloudEvent: schemaOf(cloudEventSchema(z.unknown())) },
  },
});
