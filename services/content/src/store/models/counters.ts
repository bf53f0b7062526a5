/** Counters over the collections of posts and training services. */
import type { VersionedCounter } from '@fitness/shared/lists/versions.ts';
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import { number, settings, text } from './fields.ts';

/** A profile whose posts change from one state to another in several steps. */
export interface MovingProfile {
  /** The approximate number of its posts. */
  posts: number;
  gone: boolean;
}

/**
 * Counters over a whole collection. They are sharded over several documents, so concurrent writers rarely conflict.
 * Changes name a row by its id, or posts by a key in `profiles`.
 */
export interface CounterDocument extends VersionedCounter {
  _id: string;
  counts: Record<string, number>;
  /** Keyed like `profiles`. Lists and public counts leave out the posts of these profiles. */
  moving?: Record<string, MovingProfile>;
  /** The largest id counted in this document. */
  newest: number;
}

export const counterSchema = schemaOf<CounterDocument>(
  settings('counters'),
  retain('how many there are', {
    _id: text,
    counts: { type: Schema.Types.Mixed, required: true },
    newest: number,
    version: Number,
  }),
  pseudonymise('the numbers of the posts, training services and profiles that changed last', {
    changes: { type: [Schema.Types.Mixed], default: undefined },
  }),
  pseudonymise('the numbers of the profiles whose posts are being changed', { moving: Schema.Types.Mixed }),
);
