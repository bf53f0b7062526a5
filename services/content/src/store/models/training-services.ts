/** Training services and their grams, and the read model of their boosts. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { erase, personalFieldsOf, privacy } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import type { TrainingServiceFields } from '../../domain/training-service.ts';
import { date, flag, number, settings, text, textSchema } from './fields.ts';

export interface TrainingServiceDocument extends TrainingServiceFields {
  _id: number;
  user_id: number;
  facets: string[];
  /** The epoch if it was never boosted. */
  boosted_until: Date;
  /** Level of that boost: 1 basic, 2 pro; 0 if it was never boosted. */
  boost_level: number;
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
  ends_at: Date;
  version: number;
}

export const trainingServiceSchema = new Schema<TrainingServiceDocument>(
  {
    _id: number,
    user_id: number,
    title: text,
    description: { type: String, default: '' },
    price: number,
    duration_days: number,
    is_active: flag,
    facets: { type: [String], required: true },
    boosted_until: date,
    boost_level: number,
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  },
  settings('training_services'),
)
  .index({ facets: 1, _id: -1 })
  .index({ facets: 1, price: 1 })
  .index({ boosted_until: 1 })
  .index({ user_id: 1 });

export const trainingServiceTextSchema = textSchema('training_services_texts');

export const boostSchema = new Schema<BoostDocument>(
  { _id: number, training_service_id: number, level: number, ends_at: date, version: number },
  settings('boosts'),
).index({ training_service_id: 1 });

privacy(
  trainingServiceSchema,
  erase(
    'a training service of an erased account is deleted',
    '_id',
    'title',
    'description',
    'price',
    'user_id',
    'duration_days',
    'is_active',
    'facets',
    'boosted_until',
    'boost_level',
    'created_at',
    'updated_at',
    'version',
    'media',
  ),
);

privacy(trainingServiceTextSchema, erase('deleted with its training service', '_id', 'row', 'grams'));

privacy(
  boostSchema,
  erase('deleted with its training service', '_id', 'training_service_id', 'level', 'ends_at', 'version'),
);

export const isPersonalTrainingServiceField = personalFieldsOf(trainingServiceSchema);
