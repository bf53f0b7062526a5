import type { Route } from '@fitness/shared/http/define-route.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import { deleteMediaRoute } from './delete-media.ts';
import { type GetMediaParts, getMedia } from './get-media.ts';
import { type PostMediaParts, postMedia } from './post-media.ts';

export const createRoutes = (
  parts: PostMediaParts & GetMediaParts & { deleteMedia: DeleteMedia },
): Route[] => [postMedia(parts), ...getMedia(parts), deleteMediaRoute(parts.deleteMedia)];
