/** The collections of the outbox, its relay and the inbox. Every service's database has them. */
import type { Connection, Model } from 'mongoose';
import { ensureModelIndexes } from '../mongo/indexes.ts';
import { pseudonymise, retain, schemaOf } from '../mongo/privacy.ts';

/** A committed event that the broker has not confirmed yet. */
export interface OutboxDocument {
  /** A number from a sequence, which grows with every event of this database. */
  _id: number;
  type: string;
  /** `<source>/<subject>`; events of one aggregate are published in order. */
  aggregate: string;
  aggregateVersion: number;
  /** The CloudEvent as JSON text, as it is published. */
  body: string;
  occurredAt: Date;
}

/** An event that was handled by a consumer. */
export interface InboxDocument {
  consumer: string;
  eventId: string;
  /** Read by the TTL monitor of the database. */
  processedAt: Date;
}

/** The process that may publish the outbox. */
export interface RelayLeaseDocument {
  _id: string;
  owner: string;
  until: Date;
}

export interface EventModels {
  outbox: Model<OutboxDocument>;
  inbox: Model<InboxDocument>;
  leases: Model<RelayLeaseDocument>;
}

const INBOX_TTL_S = 30 * 24 * 60 * 60;

// Events are deleted once the broker has confirmed them (docs/adr/0003).
const outboxSchema = schemaOf<OutboxDocument>(
  { collection: 'outbox', versionKey: false },
  retain('deleted when it is published, normally within a second', {
    _id: { type: Number, required: true },
    type: { type: String, required: true },
    aggregateVersion: { type: Number, required: true },
    body: { type: String, required: true },
    occurredAt: { type: Date, required: true },
  }),
  pseudonymise('the number of what changed', { aggregate: { type: String, required: true } }),
);

const inboxSchema = schemaOf<InboxDocument>(
  { collection: 'inbox', versionKey: false },
  retain('which event was handled, without what it said; for thirty days', '_id', {
    consumer: { type: String, required: true },
    eventId: { type: String, required: true },
    processedAt: { type: Date, required: true },
  }),
)
  .index({ consumer: 1, eventId: 1 }, { unique: true })
  .index({ processedAt: 1 }, { expireAfterSeconds: INBOX_TTL_S });

const leaseSchema = schemaOf<RelayLeaseDocument>(
  { collection: 'relay_leases', versionKey: false },
  retain('which process publishes', {
    _id: { type: String, required: true },
    owner: { type: String, required: true },
    until: { type: Date, required: true },
  }),
);

/** The models of this connection, registered on first use. */
export const registerEventModels = (connection: Connection): EventModels => ({
  outbox: connection.models.OutboxEvent ?? connection.model<OutboxDocument>('OutboxEvent', outboxSchema),
  inbox: connection.models.InboxEvent ?? connection.model<InboxDocument>('InboxEvent', inboxSchema),
  leases: connection.models.RelayLease ?? connection.model<RelayLeaseDocument>('RelayLease', leaseSchema),
});

const prepared = new WeakMap<Connection, Promise<void>>();

/** Creates the collections and indexes of these models, once per connection. `ensureIndexes` does the same. */
export const ensureEventIndexes = (connection: Connection): Promise<void> => {
  const cached = prepared.get(connection);
  if (cached !== undefined) return cached;
  const made = create(registerEventModels(connection)).catch((error: unknown) => {
    prepared.delete(connection);
    throw error;
  });
  prepared.set(connection, made);
  return made;
};

const create = async (models: EventModels): Promise<void> => {
  for (const model of [models.outbox, models.inbox, models.leases] as Model<unknown>[]) {
    await ensureModelIndexes(model);
  }
};
