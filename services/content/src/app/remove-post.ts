import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Post } from '../domain/post.ts';
import { publishPostDeleted } from './publish.ts';

/** Removes a post and publishes the removal, without updating counters. Undefined if the post did not exist. */
export const createRemovePost =
  (dependencies: Pick<Dependencies, 'store' | 'outbox'>) =>
  async (session: ClientSession, id: number): Promise<Post | undefined> => {
    const removed = await dependencies.store.posts.remove(session, id);
    if (removed !== undefined) await publishPostDeleted(dependencies, session, removed);
    return removed;
  };
