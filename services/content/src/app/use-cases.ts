/** All use cases of this service, each with what it works with. */
import { activeTrainees } from './blockers/active-trainees.ts';
import { buyTrainingService, finishPurchases } from './buy-training-service.ts';
import { keepBoost } from './keep-boosts.ts';
import { eraseAccount, keepProfile } from './keep-profiles.ts';
import { listPosts } from './list-posts.ts';
import { listTrainingServices } from './list-training-services.ts';
import { lookUpPosts, lookUpTrainingServices } from './lookups.ts';
import type { Parts } from './parts.ts';
import { createPost, deletePost, getPost, removeGonePosts, updatePost } from './posts.ts';
import { deliverTrainee, listTrainees } from './trainees.ts';
import {
  createTrainingService,
  deleteTrainingService,
  getTrainingService,
  updateTrainingService,
} from './training-services.ts';

export const createUseCases = (parts: Parts) => ({
  listPosts: listPosts(parts),
  getPost: getPost(parts),
  createPost: createPost(parts),
  updatePost: updatePost(parts),
  deletePost: deletePost(parts),
  removeGonePosts: removeGonePosts(parts),
  listTrainingServices: listTrainingServices(parts),
  getTrainingService: getTrainingService(parts),
  createTrainingService: createTrainingService(parts),
  updateTrainingService: updateTrainingService(parts),
  deleteTrainingService: deleteTrainingService(parts),
  buyTrainingService: buyTrainingService(parts),
  finishPurchases: finishPurchases(parts),
  listTrainees: listTrainees(parts),
  deliverTrainee: deliverTrainee(parts),
  activeTrainees: activeTrainees(parts),
  lookUpPosts: lookUpPosts(parts),
  lookUpTrainingServices: lookUpTrainingServices(parts),
  keepProfile: keepProfile(parts),
  eraseAccount: eraseAccount(parts),
  keepBoost: keepBoost(parts),
});

export type UseCases = ReturnType<typeof createUseCases>;
