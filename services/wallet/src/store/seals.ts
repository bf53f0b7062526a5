/** The seals of the ledger, in a separate database: write access to the ledger alone cannot change them. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import {
  createSeals as createSealsOf,
  type SealDocument,
  type Seals,
  sealSchemaOf,
} from '@fitness/shared/mongo/seals.ts';

export type { Seals } from '@fitness/shared/mongo/seals.ts';

const sealSchema = sealSchemaOf('ledger_seals', 'hashes that the ledger is checked against');

/** `connection` is to the database of the seals. */
export const createSeals = (connection: Connection): Seals =>
  createSealsOf(connection.models.LedgerSeal ?? connection.model<SealDocument>('LedgerSeal', sealSchema));
