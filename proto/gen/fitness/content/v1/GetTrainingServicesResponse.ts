// Original file: proto/content/v1/content.proto

import type { TrainingService as _fitness_content_v1_TrainingService, TrainingService__Output as _fitness_content_v1_TrainingService__Output } from '../../../fitness/content/v1/TrainingService.ts';

export interface GetTrainingServicesResponse {
  'training_services'?: (_fitness_content_v1_TrainingService)[];
}

export interface GetTrainingServicesResponse__Output {
  'training_services': (_fitness_content_v1_TrainingService__Output)[];
}
