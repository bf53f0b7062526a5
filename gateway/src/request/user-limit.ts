/** A limit on the concurrent requests of one user in this process. */
import { overloaded } from './body.ts';

/** Takes a place of the user. The returned function frees it. Throws 503 if no place is free. */
export type EnterUser = (userId: number) => () => void;

export const createUserLimit = (max: number): EnterUser => {
  const placesByUser = new Map<number, number>();
  return (userId) => {
    const places = placesByUser.get(userId) ?? 0;
    if (places >= max) throw overloaded();
    placesByUser.set(userId, places + 1);
    return () => {
      const left = (placesByUser.get(userId) ?? 0) - 1;
      if (left > 0) placesByUser.set(userId, left);
      else placesByUser.delete(userId);
    };
  };
};
