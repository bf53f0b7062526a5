import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { seesPost } from '../domain/access.ts';
import { type PostResource, toPostResource } from './post-resource.ts';

/** 404 for a post that is unknown or that the viewer may not see. */
export const createGetPost = (dependencies: Pick<Dependencies, 'store' | 'baseUrl'>) => {
  const { store, baseUrl } = dependencies;
  return async (viewer: Caller, id: number): Promise<PostResource> => {
    const post = await store.posts.find(id);
    if (post === undefined || !seesPost(viewer, post)) throw notFound();
    return toPostResource(post, baseUrl);
  };
};
