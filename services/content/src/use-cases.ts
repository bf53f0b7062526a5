import { createBlockers } from './app/blockers.ts';
import { createBuyTrainingService } from './app/buy-training-service.ts';
import { createCreatePost } from './app/create-post.ts';
import { createCreateTrainingService } from './app/create-training-service.ts';
import { createDeletePost } from './app/delete-post.ts';
import { createDeleteTrainingService } from './app/delete-training-service.ts';
import { createDeliverTrainee } from './app/deliver-trainee.ts';
import { createEndBoost } from './app/end-boost.ts';
import { createEraseAccount } from './app/erase-account.ts';
import { createFinishPurchases } from './app/finish-purchases.ts';
import { createGetPost } from './app/get-post.ts';
import { createGetTrainingService } from './app/get-training-service.ts';
import { createListPosts } from './app/list-posts.ts';
import { createListTrainees } from './app/list-trainees.ts';
import { createListTrainingServices } from './app/list-training-services.ts';
import { createLookUpPosts } from './app/look-up-posts.ts';
import { createLookUpTrainingServices } from './app/look-up-training-services.ts';
import { createRebuild } from './app/rebuild.ts';
import { createDeleteBoosts } from './app/record-removal.ts';
import { createRemoveGonePosts } from './app/remove-gone-posts.ts';
import { createMediaCopyUseCases } from './app/save-media.ts';
import { createUpdateBoost } from './app/update-boost.ts';
import { createUpdatePost } from './app/update-post.ts';
import { createFinishMoves, createUpdateProfile } from './app/update-profile.ts';
import { createUpdateTrainingService } from './app/update-training-service.ts';
import type { Dependencies } from './dependencies.ts';

export const createUseCases = (dependencies: Dependencies) => ({
  listPosts: createListPosts(dependencies),
  getPost: createGetPost(dependencies),
  createPost: createCreatePost(dependencies),
  updatePost: createUpdatePost(dependencies),
  deletePost: createDeletePost(dependencies),
  removeGonePosts: createRemoveGonePosts(dependencies),
  lookUpPosts: createLookUpPosts(dependencies),
  listTrainingServices: createListTrainingServices(dependencies),
  getTrainingService: createGetTrainingService(dependencies),
  createTrainingService: createCreateTrainingService(dependencies),
  updateTrainingService: createUpdateTrainingService(dependencies),
  deleteTrainingService: createDeleteTrainingService(dependencies),
  lookUpTrainingServices: createLookUpTrainingServices(dependencies),
  buyTrainingService: createBuyTrainingService(dependencies),
  finishPurchases: createFinishPurchases(dependencies),
  listTrainees: createListTrainees(dependencies),
  deliverTrainee: createDeliverTrainee(dependencies),
  updateProfile: createUpdateProfile(dependencies),
  finishMoves: createFinishMoves(dependencies),
  updateBoost: createUpdateBoost(dependencies),
  endBoost: createEndBoost(dependencies),
  deleteBoosts: createDeleteBoosts(dependencies),
  ...createMediaCopyUseCases(dependencies),
  eraseAccount: createEraseAccount(dependencies),
  blockers: createBlockers(dependencies),
  rebuild: createRebuild(dependencies),
});

export type UseCases = ReturnType<typeof createUseCases>;
