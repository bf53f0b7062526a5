/** The collections of the outbox, its relay and the inbox. Every service's database has them. */
import { type Connection, type Model, Schema } from 'mongoose';
import { ensureModelIndexes } from '../mongo/indexes.ts';
import { privacy, pseudonymise, retain } from '../mongo/privacy.ts';

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

const outboxSchema = new Schema<OutboxDocument>(
  {
    _id: { type: Number, required: true },
    type: { type: String, required: true },
    aggregate: { type: String, required: true },
    aggregateVersion: { type: Number, required: true },
    body: { type: String, required: true },
    occurredAt: { type: Date, required: true },
  },
  { collection: 'outbox', versionKey: false },
);

// Events are deleted once the broker has confirmed them (docs/adr/0003).
privacy(
  outboxSchema,
  retain('deleted when it is published, normally within a second', '_id', 'type', 'aggregateVersion'),
  retain('deleted when it is published, normally within a second', 'body', 'occurredAt'),
  pseudonymise('the number of what changed', 'aggregate'),
);

const inboxSchema = new Schema<InboxDocument>(
  {
    consumer: { type: String, required: true },
    eventId: { type: String, required: true },
    processedAt: { type: Date, required: true },
  },
  { collection: 'inbox', versionKey: false },
)
  .index({ consumer: 1, eventId: 1 }, { unique: true })
  .index({ processedAt: 1 }, { expireAfterSeconds: INBOX_TTL_S });

privacy(
  inboxSchema,
  retain(
    'which event was handled, without what it said; for thirty days',
    '_id',
    'consumer',
    'eventId',
    'processedAt',
  ),
);

const leaseSchema = new Schema<RelayLeaseDocument>(
  {
    _id: { type: String, required: true },
    owner: { type: String, required: true },
    until: { type: Date, required: true },
  },
  { collection: 'relay_leases', versionKey: false },
);

privacy(leaseSchema, retain('which process publishes', '_id', 'owner', 'until'));

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
