/**
 * The envelope of every event: CloudEvents 1.0 in its JSON form.
 * Source: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
 */
import { z } from 'zod';

const attributes = {
  specversion: z.literal('1.0'),
  id: z.uuid().meta({ description: 'Id of the event, the same in every delivery and retry' }),
  source: z
    .string()
    .regex(/^\/services\/[a-z][a-z-]*$/)
    .meta({ description: 'The service that publishes the event' }),
  type: z.string().min(1),
  subject: z.string().min(1).meta({ description: 'Id of the aggregate that changed' }),
  time: z.iso.datetime().meta({ description: 'When it happened, ISO 8601 in UTC' }),
  datacontenttype: z.literal('application/json'),
  aggregateversion: z.int().nonnegative().meta({
    description: 'Extension: version of the aggregate after the change; every change increments it',
  }),
  traceparent: z
    .string()
    .optional()
    .meta({ description: 'Extension: W3C trace context of the request that caused the event' }),
};

/** The envelope around `data`. Unknown attributes are dropped: CloudEvents allows any extension. */
export const cloudEventSchema = <Data extends z.ZodType>(data: Data) => z.object({ ...attributes, data });

export type CloudEvent<Data = unknown> = Omit<z.output<ReturnType<typeof cloudEventSchema>>, 'data'> & {
  data: Data;
};

/** The `source` of a service's events. */
export const eventSource = (service: string): string => `/services/${service}`;
