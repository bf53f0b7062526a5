import type { Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { UseCases } from '../use-cases.ts';
import { deletePostRoute } from './delete-post.ts';
import { deleteTrainingServiceRoute } from './delete-training-service.ts';
import { getPostRoute } from './get-post.ts';
import { getPostsRoute } from './get-posts.ts';
import { getTraineesRoute } from './get-trainees.ts';
import { getTrainingServiceRoute } from './get-training-service.ts';
import { getTrainingServicesRoute } from './get-training-services.ts';
import { postDeliverRoute } from './post-deliver.ts';
import { postPostsRoute } from './post-posts.ts';
import { postPurchaseRoute } from './post-purchase.ts';
import { postTrainingServicesRoute } from './post-training-services.ts';
import { putPostRoute } from './put-post.ts';
import { putTrainingServiceRoute } from './put-training-service.ts';

/** `baseUrl` is the public origin, for links in list responses. */
export const createRoutes = (
  useCases: UseCases,
  { idempotency, baseUrl }: { idempotency: Idempotency; baseUrl: string },
): Route[] => [
  getPostsRoute(useCases, baseUrl),
  postPostsRoute(useCases),
  getPostRoute(useCases),
  putPostRoute(useCases),
  deletePostRoute(useCases),
  getTrainingServicesRoute(useCases, baseUrl),
  postTrainingServicesRoute(useCases),
  getTrainingServiceRoute(useCases),
  putTrainingServiceRoute(useCases),
  deleteTrainingServiceRoute(useCases),
  postPurchaseRoute(useCases, idempotency),
  getTraineesRoute(useCases, baseUrl),
  postDeliverRoute(useCases),
];
