/** The peers installed by `install.mjs`. */
import { PEER_PACKAGES, POCKETBASE, SKIPPED_PEERS } from '../config.ts';
import { type FastifyPeers, startFastifyPeers } from './fastify.ts';
import { type PocketBase, startPocketBase } from './pocketbase.ts';

export interface Peers {
  fastify: FastifyPeers | undefined;
  pocketBase: PocketBase | undefined;
  /** Whether the npm packages, including medici, are installed. */
  hasPackages: boolean;
  /** One message for each missing peer. */
  skipped: string[];
  stop: () => void;
}

export interface PeerData {
  /** The response body of the proxied page. */
  answer: string;
  posts: number;
  /** Authors of the posts. */
  userIds: readonly number[];
}

export const startPeers = async ({ answer, posts, userIds }: PeerData): Promise<Peers> => {
  const hasPackages = PEER_PACKAGES !== undefined;
  const fastify = hasPackages ? await startFastifyPeers(answer) : undefined;
  const pocketBase = POCKETBASE ? await startPocketBase(posts, userIds) : undefined;
  return {
    fastify,
    pocketBase,
    hasPackages,
    skipped: SKIPPED_PEERS,
    stop: () => {
      fastify?.stop();
      pocketBase?.stop();
    },
  };
};
