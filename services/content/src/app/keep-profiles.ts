/** What this service keeps of gyms and accounts, as their owners tell it. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { cellMoves, NO_POSTS } from '../domain/post.ts';
import { type ProfileRef, type ProfileState, profileKey, userProfile } from '../domain/profile.ts';
import type { Parts } from './parts.ts';
import { removeTrainingService } from './training-services.ts';

export interface ProfileNews {
  ref: ProfileRef;
  state: ProfileState;
  /** Of the profile in its owner's service; what is older than what is known is dropped. */
  version: number;
}

/** Takes the news of a profile, and shows or hides its posts in the same transaction. */
export type KeepProfile = (session: ClientSession, news: ProfileNews) => Promise<void>;

export const keepProfile =
  ({ store }: Pick<Parts, 'store'>): KeepProfile =>
  async (session, { ref, state, version }) => {
    const known = await store.profiles.load(session, ref);
    if (known === undefined)
      return store.profiles.insert(session, { ref, state, version, counts: NO_POSTS, newest: 0 });
    if (known.state.gone || known.version >= version) return;
    await store.profiles.replace(session, ref, state, version);
    const same =
      known.state.ownerUserId === state.ownerUserId && known.state.isActive === state.isActive && !state.gone;
    if (same) return;
    await store.counters.movePosts(session, ref.id, cellMoves(known.counts, ref.kind, known.state, state));
    await store.posts.reclassify(session, ref, state);
  };

/** Remembers what a profile's owner said when it was asked: news that were lost on the way are made good. */
export const learnProfile = async (parts: Pick<Parts, 'store'>, news: ProfileNews): Promise<void> => {
  const { store } = parts;
  const { ref, state, version } = news;
  const known = (await store.profiles.find([ref])).get(profileKey(ref));
  if (known === undefined) await store.profiles.ensure(ref, state, version);
  else if (known.version < version) await store.transaction((session) => keepProfile(parts)(session, news));
};

/** The state of a profile that is no more. */
export const GONE: ProfileState = { ownerUserId: null, isActive: false, gone: true };

/** An erased account: its posts and training services go; who bought from it keeps what was bought. */
export type EraseAccount = (session: ClientSession, userId: number, version: number) => Promise<void>;

export const eraseAccount =
  (parts: Pick<Parts, 'store' | 'outbox' | 'idempotency'>): EraseAccount =>
  async (session, userId, version) => {
    await keepProfile(parts)(session, { ref: userProfile(userId).ref, state: GONE, version });
    for (const id of await parts.store.trainingServices.idsOfUser(session, userId))
      await removeTrainingService(parts, session, id);
    await parts.idempotency.forgetUser(session, userId);
  };
