/** The collections behind the outbox, its relay and the inbox; every service's database has them. */
import { type Connection, type Model, Schema } from 'mongoose';
import { prepareModel } from './indexes.ts';
import { privacy, pseudonymise, retain } from './privacy.ts';

/** An event that is committed and not yet confirmed by the broker. */
export interface OutboxDocument {
  /** Grows with every emitted event of this database. */
  _id: number;
  type: string;
  /** Aggregate, as `<source>/<subject>`; its events leave in order. */
  aggregate: string;
  aggregateVersion: number;
  /** The CloudEvent as JSON text, exactly as it will be published. */
  body: string;
  occurredAt: Date;
  /** Set when the broker had no queue for it; null otherwise. */
  unroutableSince: Date | null;
}

/** An event that had its effect. */
export interface InboxDocument {
  consumer: string;
  eventId: string;
  /** By the database machine's time, as it is the TTL monitor that reads it. */
  processedAt: Date;
}

/** Who is publishing the outbox at the moment. */
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
    unroutableSince: { type: Date, default: null },
  },
  { collection: 'outbox', versionKey: false },
).index({ unroutableSince: 1, _id: 1 });

// Events carry ids, and leave by deletion once the broker has them; see docs/adr/0003.
privacy(
  outboxSchema,
  retain('gone when it is published, as a rule within a second', '_id', 'type', 'aggregateVersion'),
  retain('likewise', 'body', 'occurredAt', 'unroutableSince'),
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

/** The models on this connection, registered on first use. */
export const registerEventModels = (connection: Connection): EventModels => ({
  outbox: connection.models.OutboxEvent ?? connection.model<OutboxDocument>('OutboxEvent', outboxSchema),
  inbox: connection.models.InboxEvent ?? connection.model<InboxDocument>('InboxEvent', inboxSchema),
  leases: connection.models.RelayLease ?? connection.model<RelayLeaseDocument>('RelayLease', leaseSchema),
});

const prepared = new WeakMap<Connection, Promise<void>>();

/** Makes the collections and indexes of these models once per connection; part of `syncIndexes` as well. */
export const prepareEventModels = (connection: Connection): Promise<void> => {
  const known = prepared.get(connection);
  if (known !== undefined) return known;
  const made = create(registerEventModels(connection)).catch((error: unknown) => {
    prepared.delete(connection);
    throw error;
  });
  prepared.set(connection, made);
  return made;
};

const create = async (models: EventModels): Promise<void> => {
  for (const model of [models.outbox, models.inbox, models.leases] as Model<unknown>[]) {
    await prepareModel(model);
  }
};
