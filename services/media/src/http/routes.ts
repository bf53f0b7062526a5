/** Every public route of this service. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import type { DownloadFile } from '../app/download-file.ts';
import { deleteMediaRoute } from './delete-media.ts';
import { getMedia } from './get-media.ts';
import { type PostMediaParts, postMedia } from './post-media.ts';

export interface RouteParts extends PostMediaParts {
  downloadFile: DownloadFile;
  deleteMedia: DeleteMedia;
}

export const createRoutes = (parts: RouteParts): Route[] => [
  postMedia(parts),
  ...getMedia(parts.downloadFile),
  deleteMediaRoute(parts.deleteMedia),
];
