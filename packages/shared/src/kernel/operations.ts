/** What each service reports to operators, in the form that the gateway reads. */
import { z } from 'zod';

const outboxSchema = z.object({
  waiting: z.int().meta({ description: 'Committed events that the broker has not confirmed' }),
  lag_s: z.int().meta({ description: 'Age of the oldest event in whole seconds; 0 if none is waiting' }),
});

const queuesSchema = z.object({
  waiting: z.int(),
  retrying: z.int().meta({ description: 'Events that failed and wait for another try' }),
  dead_letters: z.int(),
});

export const operationsStatusSchema = z.object({
  outbox: outboxSchema,
  queues: queuesSchema.nullable().meta({ description: 'null: the broker cannot be reached' }),
});

/** Dead letters of one service on one page. */
export const DEAD_LETTERS_PER_PAGE = 100;

export const deadLettersSchema = z.object({
  data: z.array(
    z.object({
      id: z
        .string()
        .nullable()
        .meta({ description: 'null if it is not an event, and so cannot be replayed by itself' }),
      type: z.string(),
      subject: z.string().nullable(),
      consumer: z.string().nullable(),
      attempts: z.int(),
      error: z.string(),
      first_failed_at: z.string().nullable(),
    }),
  ),
  total: z.int().meta({ description: 'In the queue, of which `data` has one page' }),
});

export type OperationsStatus = z.output<typeof operationsStatusSchema>;
