/**
 * Every write that changes or reduces the result of an introspection names its subject, so that no gateway continues to use
 * an earlier result (docs/adr/0002). A write without a subject throws.
 */
import type { EpochSubject } from '@fitness/contracts/credential-epochs.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { afterCommit, attemptKey, beforeCommit } from '@fitness/shared/mongo/transaction.ts';
import type { Query, Schema, UpdateQuery } from 'mongoose';
import type { CredentialEpochs } from '../clients/credential-epochs.ts';

export interface Revocations {
  /** Names a subject. `store.transaction` resolves only when every earlier introspection of it has become invalid. */
  add(session: ClientSession, subject: EpochSubject): void;
  /** Declares that this write does not reduce the result of any introspection and needs no subject. */
  addNone(write: object): void;
}

/** The subjects by attempt of a transaction. */
const named = new WeakMap<object, Set<EpochSubject>>();
const withNone = new WeakSet<object>();

export const createRevocations = (epochs: CredentialEpochs): Revocations => {
  const add: Revocations['add'] = (session, subject) => {
    const attempt = attemptKey(session);
    const subjects = named.get(attempt);
    if (subjects !== undefined) return void subjects.add(subject);
    const changed = new Set([subject]);
    named.set(attempt, changed);
    beforeCommit(session, () => epochs.close(changed));
    afterCommit(session, () => epochs.advance(changed));
  };
  return {
    add,
    addNone: (write) => void withNone.add(write),
  };
};

const WRITES = [
  ...['updateOne', 'updateMany', 'findOneAndUpdate', 'replaceOne', 'findOneAndReplace'],
  ...['deleteOne', 'deleteMany', 'findOneAndDelete'],
] as const;

type Update = UpdateQuery<unknown> | unknown[] | null | undefined;

/** The paths that an update writes; undefined for a deletion, and when they cannot be determined. */
const pathsOf = (update: Update): string[] | undefined => {
  if (update == null || Array.isArray(update)) return undefined;
  const entries = Object.entries(update);
  if (entries.some(([operator]) => !operator.startsWith('$'))) return undefined;
  return entries.flatMap(([, fields]) => Object.keys(fields as object));
};

/** The subject of a write, from its filter. A missing value, several values or a condition never match a named subject. */
type SubjectOf<T> = (filter: { [Field in keyof T]?: unknown }) => unknown;

interface Guarded<T> {
  subjectOf: SubjectOf<T>;
  /** The fields that introspection reads, besides whether the document exists. */
  fields: readonly (keyof T & string)[];
}

/** Refuses to delete a document, or to change what introspection reads of it, unless its subject is named. */
export const guardRevocations = <T>(schema: Schema<T>, { subjectOf, fields }: Guarded<T>): void => {
  const isRead = (path: string): boolean => fields.some((field) => path.split('.')[0] === field);
  const refuse = (name: string): never => {
    throw new Error(`${name}: the write names no revocation`);
  };
  const assertNamed = function (this: Query<unknown, T>): void {
    const paths = pathsOf(this.getUpdate() as Update);
    if (withNone.has(this) || (paths !== undefined && !paths.some(isRead))) return;
    const { session } = this.getOptions();
    const changed = session == null ? undefined : named.get(attemptKey(session));
    const subject = subjectOf(this.getFilter() as never) as EpochSubject;
    if (changed?.has(subject) !== true) refuse(this.model.modelName);
  };
  schema.pre(WRITES as never, { document: false, query: true } as never, assertNamed as never);
  schema.pre('save', function () {
    if (!this.isNew) refuse('save');
  });
  schema.pre('bulkWrite', () => refuse('bulkWrite'));
};
