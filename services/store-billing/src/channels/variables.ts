/** Fields that several configuration schemas share. */
import { z } from 'zod';

export const secret = z.string().min(1);

/** The id of the application at the stores. */
export const packageName = z
  .string()
  .regex(/^[A-Za-z][\w]*(\.[A-Za-z][\w]*)+$/, 'must be a package name such as com.example.app')
  .default('com.fitness.app');
