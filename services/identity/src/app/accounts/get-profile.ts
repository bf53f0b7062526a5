import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';
import { findOwnAccount } from '../sign-in/own-account.ts';

export const createGetProfile =
  (dependencies: Pick<Dependencies, 'store'>) =>
  ({ userId }: UserCaller): Promise<User> =>
    findOwnAccount(dependencies, userId);
