import type { roleSchema } from '@fitness/contracts/user.ts';
import type { z } from 'zod';
import type { Role } from '../../domain/roles.ts';

export const toRole = ({ _id, ...fields }: Role): z.output<typeof roleSchema> => ({ id: _id, ...fields });
