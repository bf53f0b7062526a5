/**
 * Values that no production process should run on. Publicly known ones: those of the demo, the sandbox, the tests and the examples of this repository, and the default
 * credentials of servers. Besides them secrets that can be guessed, and public addresses without TLS or of this machine. A
 * production process refuses them (ADR 33).
 */
import { isGuessable } from './guessable.ts';

export const DEMO_PASSWORD = 'demo-password-1';

/** The app that the pages name without another one. */
export const DEMO_APP = { name: 'Demo Fitness', developer: 'Demo Developer' };

/** Of the demo accounts, from 1 (the administrator) to 7. */
export const demoPhone = (number: number): string => `+98912000000${number}`;

const KNOWN: ReadonlySet<string> = new Set([
  DEMO_PASSWORD,
  DEMO_APP.name.toLowerCase(),
  DEMO_APP.developer.toLowerCase(),
  ...[1, 2, 3, 4, 5, 6, 7].map(demoPhone),
  'administrator@example.com',
  'sandbox',
  'sandbox@example.com',
  // Zibal's test merchant: its payments move no money.
  'zibal',
  // MinIO's default credentials.
  'minioadmin',
]);

/** Placeholders in configuration examples, and the secret of the tests. */
const PLACEHOLDER = /(?:change|replace)[-_. ]?(?:me|this)|\bfor tests\b/i;

/** Besides every password that equals its user name, such as RabbitMQ's `guest:guest`. */
const KNOWN_PASSWORDS: ReadonlySet<string> = new Set(['guest', 'fitness', 'admin', 'password', 'secret']);

const APP: ReadonlySet<string> = new Set(['APP_NAME', 'APP_DEVELOPER']);
/** The domains that are reserved for examples (RFC 2606), in an address or in an e-mail address. */
const EXAMPLE = /(?:^|[@/.])example\.(?:com|net|org)(?!\.?[\w-])/i;

const PUBLIC = 'everybody knows this value: refused in production';

/** Of variables. */
const SECRET = /(?:SECRET|PASSWORD|KEY|TOKEN|MERCHANT)$/;
export const isSecretName = (name: string): boolean => SECRET.test(name);

const isKnown = (value: string): boolean => KNOWN.has(value.trim().toLowerCase()) || PLACEHOLDER.test(value);

/** Not by `URL`, which does not parse an address with several hosts. */
const credentialsOf = (address: string): { user: string; password: string } | undefined => {
  const [, credentials] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)@/i.exec(address) ?? [];
  if (credentials === undefined) return undefined;
  const [user = '', ...rest] = credentials.split(':').map(decode);
  return { user, password: rest.join(':') };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const refusedAddress = (address: string): string | undefined => {
  const { user = '', password = '' } = credentialsOf(address) ?? {};
  const isAmqp = /^amqps?:/i.test(address);
  if (isAmqp && user === '' && password === '') return 'without a user the broker takes guest:guest';
  if (password === '') return undefined;
  const isPublic = password === user || KNOWN_PASSWORDS.has(password.toLowerCase()) || isKnown(password);
  if (isPublic) return 'everybody knows the password in it: refused in production';
  return isGuessable(password) ? 'the password in it can be guessed: refused in production' : undefined;
};

/** E-mail is sent with TLS only, also to an `smtp:` address (STARTTLS). */
const SECURED: ReadonlySet<string> = new Set(['https:', 'smtp:', 'smtps:']);

/** The sandbox has no TLS, and runs on a loopback address or on a host called `sandbox`. */
const refusedProvider = (address: string): string | undefined => {
  const { protocol, hostname } = new URL(address);
  const isSandbox =
    !SECURED.has(protocol) || /^(?:sandbox(?:\.|$)|127\.|\[::1\]$)|(?:^|\.)localhost$/.test(hostname);
  return isSandbox ? 'must be an https:// address of the provider, not of the sandbox' : undefined;
};

const LOCAL = /^(?:127\.|0\.0\.0\.0$|\[::1?\]$)|(?:^|\.)(?:localhost|test|invalid)$/;

/** What an address is for that people and apps outside of this machine use. */
export interface PublicUse {
  /** Nothing but scheme, host and port. */
  isOrigin?: boolean;
  /** Pages of this machine, as apps in a web view have: they need no TLS. */
  allowsLocal?: boolean;
}

const refusedPublic = (address: string, { isOrigin, allowsLocal }: PublicUse): string | undefined => {
  const { protocol, hostname, origin } = new URL(address);
  // With its root, `localhost.` is the same name.
  const isLocal = LOCAL.test(hostname.replace(/\.$/, ''));
  if (allowsLocal === true && isLocal) return undefined;
  if (isLocal) return 'must not be this machine in production';
  if (protocol === 'http:') return 'must be https: in production';
  if (isOrigin !== true || (protocol === 'https:' && origin === address.replace(/\/$/, ''))) return undefined;
  return 'must be an https: origin in production, without a path';
};

export interface Variable {
  name: string;
  isProvider: boolean;
  /** Undefined for what is no public address. */
  publicUse: PublicUse | undefined;
}

/**
 * The reason why a production process refuses this value of a variable, without the value; undefined when it accepts it.
 */
export const refusedInProduction = (
  { name, isProvider, publicUse }: Variable,
  value: unknown,
): string | undefined => {
  if (name === 'SEED_DEMO' && value === true)
    return 'accounts with a known password are refused in production';
  if (typeof value !== 'string') return undefined;
  if (name === 'SANDBOX_URL') return 'the sandbox is refused in production';
  if (APP.has(name) && isKnown(value))
    return 'required in production: app stores demand it on /account-deletion';
  if (isKnown(value)) return PUBLIC;
  if (value === '*' && publicUse !== undefined)
    return 'any page could use it: name the origins in production';
  const parts = value.split(',').map((part) => part.trim());
  if (parts.some((part) => EXAMPLE.test(part))) return 'the address of an example: refused in production';
  if (isSecretName(name) && isGuessable(value)) return 'can be guessed: refused in production';
  return (
    refusedAddress(value) ??
    (isProvider && URL.canParse(value) ? refusedProvider(value) : undefined) ??
    parts
      .map((part) => (publicUse && URL.canParse(part) ? refusedPublic(part, publicUse) : undefined))
      .find((reason) => reason !== undefined)
  );
};
