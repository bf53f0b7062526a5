/** When a gym is open: periods of the week in local time. The week begins on Saturday. */
import { formatTimestamp, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';

/** A period that closes before it opens, or at the same time, ends on the next day. */
export interface WorkingPeriod {
  /** 0 is Saturday, 6 is Friday. */
  weekday: number;
  /** `HH:MM`, like `closesAt`. */
  opensAt: string;
  closesAt: string;
}

export interface WorkingStatus {
  is_open: boolean;
  /** When `is_open` changes, `YYYY-MM-DD HH:MM:SS` in UTC; null when it never does. */
  changes_at: string | null;
}

const GYM_TIME_ZONE = 'Asia/Tehran';
const DAY_MINUTES = 24 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;
const SATURDAY_FROM_SUNDAY = 1;

type Interval = readonly [from: number, to: number];

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

/** Minutes since the beginning of the week. The end is after the start, possibly in the next week. */
const toInterval = ({ weekday, opensAt, closesAt }: WorkingPeriod): Interval => {
  const from = minutesOf(opensAt);
  const to = minutesOf(closesAt);
  const overnight = to <= from ? DAY_MINUTES : 0;
  return [weekday * DAY_MINUTES + from, weekday * DAY_MINUTES + to + overnight];
};

/** The intervals in order. One that crosses the end of the week is cut in two. */
const withinWeek = (periods: readonly WorkingPeriod[]): Interval[] =>
  periods
    .map(toInterval)
    .flatMap(([from, to]): Interval[] =>
      to <= WEEK_MINUTES
        ? [[from, to]]
        : [
            [from, WEEK_MINUTES],
            [0, to - WEEK_MINUTES],
          ],
    )
    .toSorted(([a], [b]) => a - b);

/** Whether two of the periods share a minute; periods that only touch do not. */
export const overlap = (periods: readonly WorkingPeriod[]): boolean => {
  const intervals = withinWeek(periods);
  return intervals.some(([from], index) => index > 0 && from < (intervals[index - 1]?.[1] ?? 0));
};

const localParts = new Intl.DateTimeFormat('en-US', {
  timeZone: GYM_TIME_ZONE,
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
});

/** Cached local times, keyed by the minute: a list asks for the same ones repeatedly, and each costs a formatting. */
const wallClocks = new Map<number, number>();
const WALL_CLOCKS_MAX = 1_000;

/** The local time at `instant` as if it were UTC, to the minute. */
const wallClock = (instant: Date): Date => {
  const minute = Math.floor(instant.getTime() / MINUTE_MS);
  const cached = wallClocks.get(minute);
  if (cached !== undefined) return new Date(cached);
  if (wallClocks.size >= WALL_CLOCKS_MAX) wallClocks.clear();
  const wall = readWallClock(instant);
  wallClocks.set(minute, wall.getTime());
  return wall;
};

const readWallClock = (instant: Date): Date => {
  const parts = new Map(localParts.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute')));
};

const minuteOfWeek = (wall: Date): number =>
  ((wall.getUTCDay() + SATURDAY_FROM_SUNDAY) % 7) * DAY_MINUTES +
  wall.getUTCHours() * 60 +
  wall.getUTCMinutes();

/** The instant at which the local time is `wall`. */
const instantOf = (wall: Date): Date => {
  const guess = new Date(wall.getTime() - (wallClock(wall).getTime() - wall.getTime()));
  // The offsets of the guess and of the instant differ across a change of daylight saving time.
  return new Date(guess.getTime() - (wallClock(guess).getTime() - wall.getTime()));
};

/** The status of a gym at `now`, or null without periods. */
export const workingStatus = (periods: readonly WorkingPeriod[], now: Date): WorkingStatus | null => {
  const intervals = withinWeek(periods);
  if (intervals.length === 0) return null;
  const wall = wallClock(now);
  const minute = minuteOfWeek(wall);
  const openAt = (at: number): boolean => intervals.some(([from, to]) => from <= at && at < to);
  const isOpen = openAt(minute);
  // The status does not change where two periods touch.
  const waits = intervals
    .flat()
    .map((edge) => edge % WEEK_MINUTES)
    .filter((edge) => openAt(edge) !== isOpen)
    .map((edge) => (edge - minute + WEEK_MINUTES) % WEEK_MINUTES);
  if (waits.length === 0) return { is_open: isOpen, changes_at: null };
  const changeWall = new Date(wall.getTime() + Math.min(...waits) * MINUTE_MS);
  return { is_open: isOpen, changes_at: formatTimestamp(instantOf(changeWall)) };
};
