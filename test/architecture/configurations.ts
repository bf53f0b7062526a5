/** The configuration schemas of all processes except the sandbox, which has no secrets. */
import { ConfigError } from '@fitness/shared/kernel/config.ts';
import type { z } from 'zod';
import { SERVICES } from './support.ts';

/** Directories of the processes that read configuration. */
export const owners: readonly string[] = [...SERVICES.map((service) => `services/${service}`), 'gateway'];

export interface Variable {
  /** The directory of the process. */
  reader: string;
  name: string;
  field: z.ZodType;
}

type ReadConfig = (env: Record<string, string | undefined>) => Record<string, unknown>;

export interface Configurations {
  variables: readonly Variable[];
  /** Reads the whole configuration of a process; throws ConfigError. */
  readConfig(owner: string, env: Record<string, string | undefined>): Record<string, unknown>;
}

/** The variables that a reader reads: its error for a wrong value has them. */
const shapeOf = (read: ReadConfig): z.ZodRawShape => {
  try {
    read({ LOG_LEVEL: 'unknown' });
  } catch (error) {
    if (error instanceof ConfigError) return error.shape;
    throw error;
  }
  throw new Error('a reader of the configuration accepts an unknown LOG_LEVEL');
};

/** Calls every reader in every config.ts. */
export const loadConfigurations = async (): Promise<Configurations> => {
  const variables: Variable[] = [];
  const readers = new Map<string, ReadConfig>();
  for (const owner of owners) {
    const module = (await import(`../../${owner}/src/config.ts`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (typeof value !== 'function' || !/^(?:read|load)\w*Config$/.test(name)) continue;
      const read = value as ReadConfig;
      if (name === 'readConfig') readers.set(owner, read);
      for (const [variable, field] of Object.entries(shapeOf(read)))
        variables.push({ reader: owner, name: variable, field: field as z.ZodType });
    }
  }
  return {
    variables,
    readConfig: (owner, env) => {
      const read = readers.get(owner);
      if (read === undefined) throw new Error(`${owner} has no readConfig`);
      return read(env);
    },
  };
};
