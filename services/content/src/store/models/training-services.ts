/** Training services and their grams, and the read model of their boosts. */
import type { BoostCopy } from '@fitness/contracts/boost.ts';
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { textSchema } from '@fitness/shared/lists/texts.ts';
import { erase, personalFieldsOf, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import type { TrainingServiceFields } from '../../domain/training-service.ts';
import { date, flag, number, settings, text } from './fields.ts';

export interface TrainingServiceDocument extends TrainingServiceFields {
  _id: number;
  user_id: number;
  facets: string[];
  /** The epoch if it was never boosted. */
  boosted_until: Date;
  /** Level of that boost: 1 basic, 2 pro; 0 if it was never boosted. */
  boost_level: number;
  /** That boost. Missing from documents that an older release stored. */
  boost?: BoostCopy | null;
  created_at: Date;
  updated_at: Date;
  version: number;
  /** Missing from documents that an older release stored. */
  media?: MediaCopy;
}

/** The read model of boosts, from the events of store-billing. */
export interface BoostDocument {
  _id: number;
  training_service_id: number;
  level: number;
  /** Missing from documents that an older release stored. */
  starts_at?: Date;
  ends_at: Date;
  version: number;
}

export const trainingServiceSchema = schemaOf<TrainingServiceDocument>(
  settings('training_services'),
  erase('a training service of an erased account is deleted', {
    _id: number,
    title: text,
    description: { type: String, default: '' },
    price: number,
    user_id: number,
    duration_days: number,
    is_active: flag,
    facets: { type: [String], required: true },
    boosted_until: date,
    boost_level: number,
    boost: Schema.Types.Mixed,
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  }),
)
  .index({ facets: 1, _id: -1 })
  .index({ facets: 1, price: 1 })
  .index({ boosted_until: 1 })
  .index({ user_id: 1 });

export const trainingServiceTextSchema = textSchema(
  'training_services_texts',
  erase,
  'deleted with its training service',
);

export const boostSchema = schemaOf<BoostDocument>(
  settings('boosts'),
  erase('deleted with its training service', {
    _id: number,
    training_service_id: number,
    level: number,
    starts_at: Date,
    ends_at: date,
    version: number,
  }),
).index({ training_service_id: 1 });

export const isPersonalTrainingServiceField = personalFieldsOf(trainingServiceSchema);
