/** The peers installed by `install.mjs`. */
import { PEER_PACKAGES, POCKETBASE } from '../config.ts';
import { type FastifyPeers, startFastifyPeers } from './fastify.ts';
import { type PocketBase, startPocketBase } from './pocketbase.ts';

/** A peer is undefined if it is not installed. */
export interface Peers {
  fastify?: FastifyPeers | undefined;
  pocketBase?: PocketBase | undefined;
}

export interface PeerData {
  /** The response body of the proxied page. */
  answer: string;
  posts: number;
  /** Authors of the posts. */
  userIds: readonly number[];
}

export const startPeers = async ({ answer, posts, userIds }: PeerData): Promise<Peers> => ({
  fastify: PEER_PACKAGES ? await startFastifyPeers(answer) : undefined,
  pocketBase: POCKETBASE ? await startPocketBase(posts, userIds) : undefined,
});
