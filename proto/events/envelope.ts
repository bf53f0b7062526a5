/**
 * The envelope of every event: CloudEvents 1.0 in its JSON form.
 * Source: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
 */
import { z } from 'zod';

const attributes = {
  specversion: z.literal('1.0'),
  /** The same in every delivery and retry of one event. */
  id: z.uuid(),
  /** The producer. */
  source: z.string().regex(/^\/services\/[a-z][a-z-]*$/),
  type: z.string().min(1),
  /** Id of the aggregate that changed. */
  subject: z.string().min(1),
  /** When it happened, ISO 8601 in UTC. */
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  /** Extension: the version of the aggregate after the change; every change increments it. */
  aggregateversion: z.int().nonnegative(),
  /** Extension: W3C trace context of the request that caused it. */
  traceparent: z.string().optional(),
};

/** The envelope around `data`. Unknown attributes are dropped: CloudEvents allows any extension. */
export const cloudEventSchema = <Data extends z.ZodType>(data: Data) => z.object({ ...attributes, data });

export type CloudEvent<Data = unknown> = Omit<z.output<ReturnType<typeof cloudEventSchema>>, 'data'> & {
  data: Data;
};

/** The `source` of a service's events. */
export const eventSource = (service: string): string => `/services/${service}`;
