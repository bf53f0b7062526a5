/** The profile of a user or gym, to which posts belong (specification 2.6). */
import { MODEL } from '@fitness/contracts/model-names.ts';

export const PROFILE_TYPES = [MODEL.gymProfile, MODEL.user] as const;
export type ProfileType = (typeof PROFILE_TYPES)[number];
export type ProfileKind = 'gym' | 'user';

/** The types in requests. Clients send either name of a gym. Responses have the one in {@link PROFILE_TYPES}. */
export const REQUEST_PROFILE_TYPES = [...PROFILE_TYPES, MODEL.gym] as const;
type RequestProfileType = (typeof REQUEST_PROFILE_TYPES)[number];
export const isProfileType = (type: string): type is RequestProfileType =>
  (REQUEST_PROFILE_TYPES as readonly string[]).includes(type);

export interface ProfileRef {
  kind: ProfileKind;
  id: number;
}

export const kindOf = (type: RequestProfileType): ProfileKind => (type === MODEL.user ? 'user' : 'gym');
export const typeOf = (kind: ProfileKind): ProfileType => (kind === 'gym' ? MODEL.gymProfile : MODEL.user);

/** `gym:12`, `user:7` */
export const profileKey = ({ kind, id }: ProfileRef): string => `${kind}:${id}`;
export const profileOfKey = (key: string): ProfileRef => {
  const [kind, id] = key.split(':');
  return { kind: kind as ProfileKind, id: Number(id) };
};

/** The state of a profile. Gyms or identity owns it, and the copy in this service may be older. */
export interface ProfileState {
  /** Null for a gym without an owner. */
  ownerUserId: number | null;
  /** A user profile is always active. */
  isActive: boolean;
  /** Whether the gym was deleted or the account erased. Nobody sees its posts then. */
  gone: boolean;
}

export interface VersionedProfileState {
  state: ProfileState;
  /** The version in the events and responses of the owning service; 0 if it has none. */
  version: number;
}

/** The state of a profile while its posts change in several steps: none of them is public. */
export const unlisted = (state: ProfileState): ProfileState => ({ ...state, isActive: false });

export const isSameState = (one: ProfileState, other: ProfileState): boolean =>
  one.ownerUserId === other.ownerUserId && one.isActive === other.isActive && one.gone === other.gone;

export const GONE_PROFILE: ProfileState = { ownerUserId: null, isActive: false, gone: true };

export const userProfile = (userId: number): { ref: ProfileRef; state: ProfileState } => ({
  ref: { kind: 'user', id: userId },
  state: { ownerUserId: userId, isActive: true, gone: false },
});

export const isPublicProfile = ({ isActive, gone }: Pick<ProfileState, 'isActive' | 'gone'>): boolean =>
  isActive && !gone;
