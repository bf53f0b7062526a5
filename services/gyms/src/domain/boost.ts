/** The boosts of a gym, which decide its place in the list. */
import type { BoostCopy } from '@fitness/contracts/boost.ts';

export interface Boost extends BoostCopy {
  /** Version of the event that it comes from. */
  version: number;
}

/** What a list needs of the boosts of one gym. */
export interface BoostState {
  /** When the last boost ends. The epoch for a gym that was never boosted. */
  boostedUntil: Date;
  /** Level of that boost. */
  boostLevel: number;
  /** That boost, as it is shown. */
  boost: BoostCopy | null;
}

export const NEVER_BOOSTED: BoostState = { boostedUntil: new Date(0), boostLevel: 0, boost: null };

/** Returns the boosts after an event, or undefined when the event is not newer than the stored boost. */
export const withBoost = (boosts: readonly Boost[], boost: Boost): Boost[] | undefined => {
  const existing = boosts.find(({ id }) => id === boost.id);
  if (existing !== undefined && existing.version >= boost.version) return undefined;
  return [...boosts.filter(({ id }) => id !== boost.id), boost];
};

/**
 * Returns the boosts after store-billing has named the live one: all others have ended. Versions stay, so that a late event about an
 * older state changes nothing.
 */
export const withLiveBoost = (
  boosts: readonly Boost[],
  live: Omit<Boost, 'version'> | undefined,
): Boost[] => [
  ...boosts.filter(({ id }) => id !== live?.id).map((boost) => ({ ...boost, endsAt: new Date(0) })),
  // Version 0: every event is newer.
  ...(live === undefined
    ? []
    : [{ ...live, version: boosts.find(({ id }) => id === live.id)?.version ?? 0 }]),
];

/** Whether no event has changed the boosts in between. */
export const areSameVersions = (one: readonly Boost[], other: readonly Boost[]): boolean =>
  one.length === other.length &&
  one.every(({ id, version }) => other.some((boost) => boost.id === id && boost.version === version));

/** The boost that ends last decides, because at most one is live at a time. */
export const boostState = (boosts: readonly Boost[]): BoostState => {
  const [last] = boosts.toSorted((a, b) => b.endsAt.getTime() - a.endsAt.getTime());
  if (last === undefined) return NEVER_BOOSTED;
  const { version: _version, ...boost } = last;
  return { boostedUntil: last.endsAt, boostLevel: last.level, boost };
};
