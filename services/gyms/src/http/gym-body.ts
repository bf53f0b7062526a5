import { z } from 'zod';
import { gymSchema, type PresentGyms, presentGym, type Reader } from '../app/gym-resource.ts';
import type { Gym } from '../domain/gym.ts';

/** `{gym}`, the body of every route that returns one gym. */
export const gymBody = z.object({ gym: gymSchema });

export const toGymBody = async (
  presentGyms: PresentGyms,
  gym: Gym,
  reader: Reader,
): Promise<z.output<typeof gymBody>> => ({ gym: await presentGym(presentGyms, gym, reader) });
