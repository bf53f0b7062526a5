/** Fields that several configuration schemas use. */
import { url } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';

/** Without a slash at its end. */
export const baseUrl = url.transform((value) => value.replace(/\/+$/, ''));

export const secret = z.string().min(1);

/** The id of the application at the stores. */
export const packageName = z
  .string()
  .regex(/^[A-Za-z][\w]*(\.[A-Za-z][\w]*)+$/, 'must be a package name such as com.example.app')
  .default('com.fitness.app');
