/** A boost of a training service, which is listed before others until the boost ends. */
export interface Boost {
  id: number;
  trainingServiceId: number;
  /** 1: basic, 2: pro. */
  level: number;
  endsAt: Date;
}

export const NEVER_BOOSTED: Pick<Boost, 'level' | 'endsAt'> = { level: 0, endsAt: new Date(0) };
