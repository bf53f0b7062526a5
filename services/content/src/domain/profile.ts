/** Where posts stand: on the profile of a user or of a gym (specification 2.6). */
import { MODEL } from '@fitness/shared/models.ts';

export const PROFILE_TYPES = [MODEL.gymProfile, MODEL.user] as const;
export type ProfileType = (typeof PROFILE_TYPES)[number];
export type ProfileKind = 'gym' | 'user';

export interface ProfileRef {
  kind: ProfileKind;
  id: number;
}

export const kindOf = (type: ProfileType): ProfileKind => (type === MODEL.gymProfile ? 'gym' : 'user');
export const typeOf = (kind: ProfileKind): ProfileType => (kind === 'gym' ? MODEL.gymProfile : MODEL.user);

/** One word for a profile, the key of everything that is kept about it. */
export const profileKey = ({ kind, id }: ProfileRef): string => `${kind}:${id}`;

/** What this service knows of a profile; its owner's service knows better. */
export interface ProfileState {
  /** Null for a gym without an owner. */
  ownerUserId: number | null;
  /** A user profile is always active. */
  isActive: boolean;
  /** The gym was deleted, or the account erased: nothing of it is shown to anybody. */
  gone: boolean;
}

export const userProfile = (userId: number): { ref: ProfileRef; state: ProfileState } => ({
  ref: { kind: 'user', id: userId },
  state: { ownerUserId: userId, isActive: true, gone: false },
});

export const isPublicProfile = ({ isActive, gone }: ProfileState): boolean => isActive && !gone;
