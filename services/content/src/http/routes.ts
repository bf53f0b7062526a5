/** The public routes of content. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { UseCases } from '../app/use-cases.ts';
import { deletePost } from './delete-post.ts';
import { deleteTrainingService } from './delete-training-service.ts';
import { getPost } from './get-post.ts';
import { getPosts } from './get-posts.ts';
import { getTrainees } from './get-trainees.ts';
import { getTrainingService } from './get-training-service.ts';
import { getTrainingServices } from './get-training-services.ts';
import { postDeliver } from './post-deliver.ts';
import { postPosts } from './post-posts.ts';
import { postPurchase } from './post-purchase.ts';
import { postTrainingServices } from './post-training-services.ts';
import { putPost } from './put-post.ts';
import { putTrainingService } from './put-training-service.ts';

export const createRoutes = (useCases: UseCases, baseUrl: string): Route[] => [
  getPosts(useCases, baseUrl),
  postPosts(useCases),
  getPost(useCases),
  putPost(useCases),
  deletePost(useCases),
  getTrainingServices(useCases, baseUrl),
  postTrainingServices(useCases),
  getTrainingService(useCases),
  putTrainingService(useCases),
  deleteTrainingService(useCases),
  postPurchase(useCases),
  getTrainees(useCases, baseUrl),
  postDeliver(useCases),
];
