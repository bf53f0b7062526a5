/** The peers that `install.mjs` has installed. */
import { PEER_PACKAGES, POCKETBASE, SKIPPED_PEERS } from '../config.ts';
import { type FastifyPeers, startFastifyPeers } from './fastify.ts';
import { type PocketBase, startPocketBase } from './pocketbase.ts';

export interface Peers {
  fastify: FastifyPeers | undefined;
  pocketBase: PocketBase | undefined;
  /** Of npm, among them medici. */
  hasPackages: boolean;
  /** One sentence for each that is missing. */
  skipped: string[];
  stop: () => void;
}

export interface PeerData {
  /** What the page of the proxy answers. */
  answer: string;
  posts: number;
  /** Their authors. */
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
