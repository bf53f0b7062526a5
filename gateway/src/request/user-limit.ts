/** A limit on the requests of one user that this process answers at one time. */
import { overloaded } from './body.ts';

export interface UserLimit {
  /** Takes one of the places of the user; calling the result frees it. Throws 503 when there is none. */
  enter(userId: number): () => void;
}

export const createUserLimit = (max: number): UserLimit => {
  const taken = new Map<number, number>();
  return {
    enter: (userId) => {
      const places = taken.get(userId) ?? 0;
      if (places >= max) throw overloaded();
      taken.set(userId, places + 1);
      return () => {
        const left = (taken.get(userId) ?? 0) - 1;
        if (left > 0) taken.set(userId, left);
        else taken.delete(userId);
      };
    },
  };
};
