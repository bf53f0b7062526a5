/** A training service that a trainer sells (specification 2.7), and its lists. */

import type { BoostCopy } from '@fitness/contracts/boost.ts';
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { oneLine, wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';

/** The fields that the seller sets. Requests, stored documents and responses use these names. */
export const trainingServiceFields = {
  title: z.string().meta({ description: 'Title of the training service' }),
  description: z.string().meta({ description: 'What the buyer gets' }),
  price: z.int().meta({ description: 'Price in Tooman' }),
  duration_days: z.int().meta({ description: 'Duration in days' }),
  is_active: z
    .boolean()
    .meta({
      description: 'Whether it is on sale; an inactive one is hidden from the public and cannot be bought',
    })
    .default(true),
};

/** `trainingServiceFields` with the limits of a request. */
export const trainingServiceInput = {
  ...trainingServiceFields,
  title: oneLine('Title of the training service', trainingServiceFields.title.trim().min(1).max(255)),
  description: wellFormed(trainingServiceFields.description.max(5_000)),
  price: trainingServiceFields.price.min(1).max(1_000_000_000),
  duration_days: trainingServiceFields.duration_days.min(1).max(3_650),
};

const fieldsSchema = z.object(trainingServiceFields);
export type TrainingServiceFields = z.output<typeof fieldsSchema>;

/** Only the declared fields, with the defaults of missing ones. */
export const pickTrainingServiceFields = (source: z.input<typeof fieldsSchema>): TrainingServiceFields =>
  fieldsSchema.parse(source);

export interface TrainingService extends TrainingServiceFields {
  id: number;
  user_id: number;
  created_at: Date;
  updated_at: Date;
  version: number;
  /** When its boost ends, according to the events received from store-billing. Until then, it comes first in lists. */
  boosted_until: Date;
  /** The boost that ends then. */
  boost: BoostCopy | null;
  /** The public files of the training service. */
  media: MediaCopy;
}

/** The counter that a training service belongs to. */
export const activityOf = ({ is_active }: Pick<TrainingService, 'is_active'>): 'active' | 'inactive' =>
  is_active ? 'active' : 'inactive';

export type ServiceScope = 'all' | 'active' | 'inactive';

/** The facet of a list. Omit `userId` for the list of all sellers. See `domain/post-lists.ts`. */
export const serviceFacet = (scope: ServiceScope, userId?: number): string =>
  userId === undefined ? scope : `${scope}/user:${userId}`;

export const serviceFacets = (service: Pick<TrainingService, 'user_id' | 'is_active'>): string[] => {
  const activity = activityOf(service);
  return [
    serviceFacet('all'),
    serviceFacet(activity),
    serviceFacet('all', service.user_id),
    serviceFacet(activity, service.user_id),
  ];
};
