import { z } from 'zod';
import { PROVIDER_PORT, PROVIDERS, SMTP_PORT } from './providers/index.ts';

/** The process must not start with this configuration; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const portUpTo = (highest: number, usual: number) =>
  z
    .string()
    .default(String(usual))
    .refine((value) => /^\d{1,5}$/.test(value) && Number(value) <= highest, `must be a port, 0 to ${highest}`)
    .transform(Number);

/** The gateway of `npm start`. */
export const API_URL = 'http://127.0.0.1:8080';

const HOST_NAME = /^(?:[a-z\d_.-]+|\[[\da-f:.]+\])$/;

const schema = z.object({
  // Emulated money and messages must never replace real ones.
  NODE_ENV: z
    .string()
    .optional()
    .refine((value) => value !== 'production', 'the sandbox does not run in production'),
  HOST: z.string().default('127.0.0.1'),
  HTTP_PORT: portUpTo(65_535, 8090),
  PROVIDER_PORT: portUpTo(65_536 - PROVIDERS.length, PROVIDER_PORT),
  SMTP_PORT: portUpTo(65_535, SMTP_PORT),
  SANDBOX_HOSTS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .toLowerCase()
        .split(/[\s,]+/)
        .filter((name) => name !== ''),
    )
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be names without ports, such as sandbox',
    ),
  SEED_DEMO: z.stringbool().default(false),
  CLOCK_FILE: z.string().optional(),
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .default(API_URL)
    .transform((url) => new URL(url).origin),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
});

export interface SandboxConfig {
  host: string;
  port: number;
  /** First port of the provider addresses. */
  providerPort: number;
  smtpPort: number;
  /** Hosts that the sandbox serves besides loopback ones, in lower case. */
  hosts: readonly string[];
  /** Whether the processes of the product follow its clock, which can therefore be advanced. */
  seedDemo: boolean;
  /** File that preserves the advance of the clock across restarts. */
  clockFile: string | undefined;
  /** Origin of the gateway, which the sample app calls from the browser. */
  apiUrl: string;
  logLevel: (typeof LOG_LEVELS)[number];
}

/** Reads the environment. An empty variable is treated as unset. Throws {@link ConfigError}. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): SandboxConfig {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(present);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(problems.join('; '));
  }
  const { data } = parsed;
  return {
    host: data.HOST,
    port: data.HTTP_PORT,
    providerPort: data.PROVIDER_PORT,
    smtpPort: data.SMTP_PORT,
    hosts: data.SANDBOX_HOSTS,
    seedDemo: data.SEED_DEMO,
    clockFile: data.CLOCK_FILE,
    apiUrl: data.PUBLIC_BASE_URL,
    logLevel: data.LOG_LEVEL,
  };
}
