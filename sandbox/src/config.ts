import { z } from 'zod';

/** The process must not start with this configuration; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

const schema = z.object({
  // Emulated money and messages must never stand where real ones are expected.
  NODE_ENV: z
    .string()
    .optional()
    .refine((value) => value !== 'production', 'the sandbox does not run in production'),
  HOST: z.string().default('127.0.0.1'),
  HTTP_PORT: z
    .string()
    .default('8090')
    .refine((value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535, 'must be a port, 0 to 65535')
    .transform(Number),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
});

export interface SandboxConfig {
  host: string;
  port: number;
  logLevel: LogLevel;
}

/** Reads the environment, where an empty variable counts as unset. Throws {@link ConfigError}. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): SandboxConfig {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(present);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(problems.join('; '));
  }
  return { host: parsed.data.HOST, port: parsed.data.HTTP_PORT, logLevel: parsed.data.LOG_LEVEL };
}
