import type { Route } from '@fitness/shared/http/define-route.ts';
import type { UseCases } from '../use-cases.ts';
import { deleteMediaRoute } from './delete-media.ts';
import type { DownloadLimits } from './download-limit.ts';
import { getMediaRoutes } from './get-media.ts';
import { type PostMediaOptions, postMediaRoute } from './post-media.ts';

export const createRoutes = (
  useCases: UseCases,
  options: PostMediaOptions & { downloads: DownloadLimits },
): Route[] => [
  postMediaRoute(useCases, options),
  ...getMediaRoutes(useCases, options.downloads),
  deleteMediaRoute(useCases),
];
