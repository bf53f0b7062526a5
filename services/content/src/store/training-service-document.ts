/** The stored form of a training service. */
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import {
  pickTrainingServiceFields,
  serviceFacets,
  type TrainingService,
  type TrainingServiceFields,
} from '../domain/training-service.ts';
import type { TrainingServiceDocument } from './models/training-services.ts';

/** The fields that a search covers. */
export const TEXTS = ['title', 'description'] as const;

export const fromDocument = (document: Omit<TrainingServiceDocument, 'facets'>): TrainingService => ({
  id: document._id,
  user_id: document.user_id,
  ...pickTrainingServiceFields(document),
  created_at: document.created_at,
  updated_at: document.updated_at,
  version: document.version,
  boosted_until: document.boosted_until,
  boost: document.boost ?? null,
  media: document.media ?? NO_MEDIA,
});

/** The declared fields, and the fields derived from them. */
export const toDocumentFields = (userId: number, fields: TrainingServiceFields) => ({
  ...pickTrainingServiceFields(fields),
  facets: serviceFacets({ user_id: userId, is_active: fields.is_active }),
});
