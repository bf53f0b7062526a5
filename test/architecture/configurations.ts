/** The configuration schemas of all processes except the sandbox, which has no secrets. */
import { expect, jest } from '@jest/globals';
import type { z } from 'zod';
import { SERVICES } from './support.ts';

const SHARED = '@fitness/shared/kernel/config.ts';

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

/** Calls every reader in every config.ts and records the schemas that it passes to `parseConfig`. */
export const loadConfigurations = async (): Promise<Configurations> => {
  const real = await import('@fitness/shared/kernel/config.ts');
  const variables: Variable[] = [];
  const readers = new Map<string, ReadConfig>();
  let recording: string | undefined;
  jest.unstable_mockModule(SHARED, () => ({
    ...real,
    parseConfig: (schema: z.ZodObject, env: Record<string, string | undefined>) => {
      for (const [name, field] of Object.entries(schema.shape)) {
        if (recording !== undefined) variables.push({ reader: recording, name, field: field as z.ZodType });
      }
      return real.parseConfig(schema, env);
    },
  }));
  for (const owner of owners) {
    const module = (await import(`../../${owner}/src/config.ts`)) as Record<string, unknown>;
    for (const [name, read] of Object.entries(module)) {
      if (typeof read !== 'function' || !/^(?:read|load)\w*Config$/.test(name)) continue;
      if (name === 'readConfig') readers.set(owner, read as ReadConfig);
      recording = owner;
      try {
        (read as ReadConfig)({});
      } catch (error) {
        expect((error as Error).name).toBe('ConfigError');
      }
      recording = undefined;
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
