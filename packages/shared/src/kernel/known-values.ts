/**
 * Values that a production process refuses (ADR 33). Some are publicly known: values from the demo, the sandbox, the tests and
 * the examples of this repository, and default credentials of servers. The others are guessable secrets, servers without
 * credentials, public addresses without TLS, and public addresses of this machine.
 */
import { isGuessable, isReadable } from './guessable.ts';

export const DEMO_PASSWORD = 'demo-password-1';

/** The app that the pages name when none is configured. */
export const DEMO_APP = { name: 'Demo Fitness', developer: 'Demo Developer' };

/** Phone numbers of the demo accounts; the first one is the administrator's. */
const DEMO_PHONES = [1, 2, 3, 4, 5, 6, 7].map((number) => `+98912000000${number}`);

const KNOWN: ReadonlySet<string> = new Set([
  DEMO_PASSWORD,
  DEMO_APP.name.toLowerCase(),
  DEMO_APP.developer.toLowerCase(),
  ...DEMO_PHONES,
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

/** Refused together with every password that equals its username, such as RabbitMQ's `guest:guest`. */
const KNOWN_PASSWORDS: ReadonlySet<string> = new Set(['guest', 'fitness', 'admin', 'password', 'secret']);

const APP: ReadonlySet<string> = new Set(['APP_NAME', 'APP_DEVELOPER']);
/** Domains reserved for examples (RFC 2606), in a URL or an email address. */
const EXAMPLE = /(?:^|[@/.])example\.(?:com|net|org)(?!\.?[\w-])/i;

const PUBLIC = 'this value is publicly known: refused in production';

/** Names of variables whose values are secrets. */
const SECRET = /(?:SECRET|PASSWORD|KEY|KEY_ID|TOKEN|MERCHANT)$/;
export const isSecretName = (name: string): boolean => SECRET.test(name);

/** Secrets that the operator generates. Those of providers and PREVIOUS_SECOND_FACTOR_KEY, an earlier choice, are as they are. */
const GENERATED: ReadonlySet<string> = new Set(['OAUTH_SECRET', 'SECOND_FACTOR_KEY']);

const isKnown = (value: string): boolean => KNOWN.has(value.trim().toLowerCase()) || PLACEHOLDER.test(value);

/** Parses the address without `URL`, which does not accept several hosts. */
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

/** The secrets in the value of a variable: the whole value, the password of an address, or the values of headers. */
export const secretsIn = (name: string, value: string): string[] => {
  if (isSecretName(name)) return [value];
  if (!name.endsWith('_HEADERS')) return [credentialsOf(value)?.password ?? ''];
  // The value may begin with a scheme: `Authorization=Bearer%20…`.
  return value.split(',').flatMap((header) => decode(header.slice(header.indexOf('=') + 1)).split(' '));
};

const SERVER = /^(?:amqps?|mongodb(?:\+srv)?|rediss?):/i;
/** MongoDB accepts a certificate, a role of the cloud, a token or Kerberos in place of a password. */
const WITHOUT_PASSWORD = /[?&]authMechanism=(?:MONGODB-(?:X509|AWS|OIDC)|GSSAPI)(?:&|$)/i;

const refusedAddress = (address: string): string | undefined => {
  const { user = '', password = '' } = credentialsOf(address) ?? {};
  if (password === '') {
    const isOpen = SERVER.test(address) && !WITHOUT_PASSWORD.test(address);
    return isOpen ? 'must have a user and a password in production' : undefined;
  }
  const isPublic = password === user || KNOWN_PASSWORDS.has(password.toLowerCase()) || isKnown(password);
  if (isPublic) return 'the password in it is publicly known: refused in production';
  return isGuessable(password) ? 'the password in it can be guessed: refused in production' : undefined;
};

/** Email is always sent with TLS, even to an `smtp:` address (STARTTLS). */
const SECURED: ReadonlySet<string> = new Set(['https:', 'smtp:', 'smtps:']);

/** The sandbox has no TLS, and runs on a loopback address or on a host called `sandbox`. */
const refusedProvider = (address: string): string | undefined => {
  const { protocol, hostname } = new URL(address);
  const isSandbox =
    !SECURED.has(protocol) || /^(?:sandbox(?:\.|$)|127\.|\[::1\]$)|(?:^|\.)localhost$/.test(hostname);
  return isSandbox ? 'must be an https:// address of the provider, not of the sandbox' : undefined;
};

const LOCAL = /^(?:127\.|0\.0\.0\.0$|\[::1?\]$)|(?:^|\.)(?:localhost|test|invalid)$/;

/** How an address is used by people and apps outside this machine. */
export interface PublicUse {
  /** Whether it must have only a scheme, a host and a port. */
  isOrigin?: boolean;
  /** Whether it may be an address of this machine, as apps in a web view have. These need no TLS. */
  allowsLocal?: boolean;
  /** Whether it may be the name of a neighboring container without TLS. */
  allowsNeighbor?: boolean;
}

const isNeighbor = (address: string): boolean => /^http:\/\/(?!localhost\b)[\w-]+(?:[:/]|$)/.test(address);

const refusedPublic = (address: string, use: PublicUse): string | undefined => {
  const { protocol, hostname, origin } = new URL(address);
  // With its root, `localhost.` is the same name.
  const isLocal = LOCAL.test(hostname.replace(/\.$/, ''));
  if (use.allowsLocal === true && isLocal) return undefined;
  if (use.allowsNeighbor === true && isNeighbor(address)) return undefined;
  if (isLocal) return 'must not be this machine in production';
  if (protocol === 'http:') return 'must be https: in production';
  if (use.isOrigin !== true || (protocol === 'https:' && origin === address.replace(/\/$/, '')))
    return undefined;
  return 'must be an https: origin in production, without a path';
};

export interface Variable {
  name: string;
  isProvider: boolean;
  /** Undefined for a variable that is not a public address. */
  publicUse: PublicUse | undefined;
}

/**
 * The reason why a production process refuses this value, which the text does not contain; undefined if it accepts it.
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
  if (parts.some((part) => EXAMPLE.test(part))) return 'an example address: refused in production';
  if (isSecretName(name) && isGuessable(value)) return 'can be guessed: refused in production';
  if (GENERATED.has(name) && isReadable(value))
    return 'consists of words: refused in production (openssl rand -base64 48 makes a random one)';
  return (
    refusedAddress(value) ??
    (isProvider && URL.canParse(value) ? refusedProvider(value) : undefined) ??
    parts
      .map((part) => (publicUse && URL.canParse(part) ? refusedPublic(part, publicUse) : undefined))
      .find((reason) => reason !== undefined)
  );
};

/** A value that is as many times its default is more likely a mistake than a decision. */
const DOUBTFUL_FACTOR = 1_000;

/** Why a production process should not have a value that {@link refusedInProduction} accepts. `usual`: its default. */
export const doubtfulInProduction = (
  use: PublicUse | undefined,
  value: unknown,
  usual: unknown,
): string | undefined => {
  if (use?.allowsNeighbor === true && typeof value === 'string' && isNeighbor(value))
    return 'without TLS: this network must not leave the machine';
  const factor = typeof value === 'number' && typeof usual === 'number' && usual > 0 ? value / usual : 1;
  return factor >= DOUBTFUL_FACTOR ? `${Math.floor(factor)} times its default` : undefined;
};
