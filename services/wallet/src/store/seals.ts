/** The seals of the ledger, in a separate database: write access to the ledger alone cannot change them. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { privacy } from '@fitness/shared/mongo/privacy.ts';
import {
  createSeals as createSealsOf,
  type SealDocument,
  type Seals,
  sealFields,
  sealPrivacy,
} from '@fitness/shared/mongo/seals.ts';
import { Schema } from 'mongoose';

export type { Seals } from '@fitness/shared/mongo/seals.ts';

const sealSchema = new Schema<SealDocument>(sealFields, { collection: 'ledger_seals', versionKey: false });

privacy(sealSchema, sealPrivacy('hashes that the ledger is checked against'));

/** `connection` is to the database of the seals. */
export const createSeals = (connection: Connection): Seals =>
  createSealsOf(connection.models.LedgerSeal ?? connection.model<SealDocument>('LedgerSeal', sealSchema));
