/** The collections of content's database. */
import type { TextDocument } from '@fitness/shared/lists/texts.ts';
import type { Connection } from 'mongoose';
import { type CounterDocument, counterSchema } from './models/counters.ts';
import {
  type PostDocument,
  type ProfileDocument,
  postSchema,
  postTextSchema,
  profileSchema,
} from './models/posts.ts';
import {
  type PurchaseKeyDocument,
  purchaseKeySchema,
  type TraineeDocument,
  traineeSchema,
} from './models/trainees.ts';
import {
  type BoostDocument,
  boostSchema,
  type TrainingServiceDocument,
  trainingServiceSchema,
  trainingServiceTextSchema,
} from './models/training-services.ts';

/** Call it once per connection. */
export const registerModels = (connection: Connection) => ({
  posts: connection.model<PostDocument>('Post', postSchema),
  postTexts: connection.model<TextDocument>('PostText', postTextSchema),
  profiles: connection.model<ProfileDocument>('Profile', profileSchema),
  counters: connection.model<CounterDocument>('Counter', counterSchema),
  trainingServices: connection.model<TrainingServiceDocument>('TrainingService', trainingServiceSchema),
  trainingServiceTexts: connection.model<TextDocument>('TrainingServiceText', trainingServiceTextSchema),
  boosts: connection.model<BoostDocument>('Boost', boostSchema),
  trainees: connection.model<TraineeDocument>('Trainee', traineeSchema),
  purchaseKeys: connection.model<PurchaseKeyDocument>('PurchaseKey', purchaseKeySchema),
});

export type Models = ReturnType<typeof registerModels>;
