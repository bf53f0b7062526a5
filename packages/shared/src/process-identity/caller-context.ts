/**
 * The signed caller context. The gateway authenticates the caller and signs the result for a few seconds; services
 * refuse requests and calls without a valid signature. A process signs with its own key, for one other process.
 */
import { createHmac, hkdfSync, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { ALL_TOKEN_KINDS, type Caller, GUEST, SESSION_PAGES } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { unavailable } from '../kernel/error.ts';
import { isPermission } from '../kernel/permissions.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import type { KeyedDigest } from '../kernel/settled-once.ts';
import type { ProcessKeys } from './process-keys.ts';

/** The calling process, and the user on whose behalf it calls, if any. */
export interface InternalContext {
  from: ProcessName;
  caller: Caller;
}

/** HTTP header and gRPC metadata key of the signed context. */
export const CALLER_HEADER = 'x-caller-context';
export const CONTEXT_LIFETIME_S = 10;
/** Tolerance for clock differences between two machines. */
const CLOCK_DIFFERENCE_S = 5;
/** How long a context is reused for the same caller and audience. Signing costs more than a look-up. */
const REUSE_S = 3;
/** Maximum number of cached contexts, separately for signed and verified ones. */
const MAX_CACHED = 5_000;
/** Far longer than a context with all permissions. */
const MAX_LENGTH = 8_192;

const headerSchema = z.object({ alg: z.literal('EdDSA'), kid: z.string() });

const issueSchema = z.object({ iss: z.string(), aud: z.string(), exp: z.int() });

const claimsSchema = z.union([
  issueSchema.extend({
    sub: z.string().regex(/^\d+$/),
    permissions: z.array(z.string()),
    withheld: z.array(z.string()).optional(),
    grantable: z.array(z.string()).optional(),
    token_id: z.string(),
    token_kind: z.enum(ALL_TOKEN_KINDS),
    page: z.enum(SESSION_PAGES).optional(),
  }),
  issueSchema.extend({ sub: z.undefined().optional() }),
]);
type Claims = z.output<typeof claimsSchema>;

export interface CallerSigner {
  /** The process that signs contexts, and the audience of the accepted ones. */
  process: ProcessName;
  sign(audience: ProcessName, caller: Caller): string;
  /**
   * Undefined for a context that is missing, invalid or meant for another process. Throws 503 for a valid but expired context,
   * because the calling process was late. Throws 503 for an unknown key, too: its owner may sign with a new key before it
   * arrives here. A 401 would wrongly tell the user that their token is invalid.
   */
  verify(context: string | undefined): InternalContext | undefined;
  /** Changes with the key of this process, so it suits what is compared for hours or days. */
  digest: KeyedDigest;
}

interface CallerSignerOptions {
  keys: ProcessKeys;
  clock: Clock;
}

/**
 * A context is a JWT (RFC 7519, EdDSA). Node's own functions sign and verify it on this thread in a fraction of a
 * millisecond; those of jose wait for the thread pool, which hashes passwords for tens of milliseconds each.
 */
export const createCallerSigner = ({ keys, clock }: CallerSignerOptions): CallerSigner => {
  const seconds = (): number => Math.floor(clock.now().getTime() / 1_000);
  const signed = createBoundedMap<{ context: string; keyId: string; issuedAt: number }>();
  const verified = createBoundedMap<{ context: InternalContext; expiresAt: number }>();

  const read = (text: string): Claims | undefined => {
    const [header = '', payload = '', signature = '', ...rest] = text.split('.');
    const parsed = headerSchema.safeParse(decode(header));
    if (!parsed.success || rest.length > 0) return undefined;
    const key = keys.find(parsed.data.kid);
    if (key === undefined) throw unavailable('the key of the caller context is not known here');
    const content = Buffer.from(`${header}.${payload}`);
    if (!verify(null, content, key.key, Buffer.from(signature, 'base64url'))) return undefined;
    const { data: claims } = claimsSchema.safeParse(decode(payload));
    if (claims?.iss !== key.owner || claims.aud !== keys.process) return undefined;
    // The issuer does not decide how long a context lives.
    return claims.exp > seconds() + CONTEXT_LIFETIME_S + CLOCK_DIFFERENCE_S ? undefined : claims;
  };

  return {
    process: keys.process,
    sign: (audience, caller) => {
      const now = seconds();
      const key = keys.own();
      const name = nameOf(audience, caller);
      const cached = signed.get(name);
      if (cached?.keyId === key.id && now >= cached.issuedAt && now < cached.issuedAt + REUSE_S) {
        return cached.context;
      }
      const times = { iat: now, exp: now + CONTEXT_LIFETIME_S };
      const claims = { iss: keys.process, aud: audience, ...times, ...claimsOf(caller) };
      const content = `${encode({ alg: 'EdDSA', kid: key.id })}.${encode(claims)}`;
      const context = `${content}.${sign(null, Buffer.from(content), key.key).toString('base64url')}`;
      signed.set(name, { context, keyId: key.id, issuedAt: now });
      return context;
    },
    verify: (text) => {
      if (text === undefined || text.length > MAX_LENGTH) return undefined;
      const cached = verified.get(text);
      if (cached !== undefined && seconds() < cached.expiresAt) return cached.context;
      const claims = read(text);
      if (claims === undefined) return undefined;
      if (seconds() >= claims.exp) throw unavailable('the caller context has expired');
      const context = toContext(claims);
      verified.set(text, { context, expiresAt: claims.exp });
      return context;
    },
    digest: (purpose, text) => {
      const { d = '' } = keys.own().key.export({ format: 'jwk' });
      const key = hkdfSync('sha256', d, '', purpose, DIGEST_BYTES);
      return createHmac('sha256', Buffer.from(key)).update(text).digest('base64url');
    },
  };
};

const DIGEST_BYTES = 32;

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Undefined for a part that is not JSON. */
const decode = (part: string): unknown => {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
};

/** A map that is cleared when it is full. An entry lives only for seconds. */
const createBoundedMap = <Value>() => {
  const map = new Map<string, Value>();
  return {
    get: (key: string): Value | undefined => map.get(key),
    set: (key: string, value: Value): void => {
      if (map.size >= MAX_CACHED) map.clear();
      map.set(key, value);
    },
  };
};

/** Contexts by caller object, which the gateway and services use for seconds. */
const names = new WeakMap<Caller, Partial<Record<ProcessName, string>>>();

/** A name that is equal for two contexts with the same content. */
const nameOf = (audience: ProcessName, caller: Caller): string => {
  if (caller.kind === 'guest') return audience;
  const cached = names.get(caller) ?? {};
  names.set(caller, cached);
  cached[audience] ??= JSON.stringify([audience, claimsOf(caller)]);
  return cached[audience];
};

const claimsOf = (caller: Caller): object =>
  caller.kind === 'guest'
    ? {}
    : {
        sub: String(caller.userId),
        permissions: [...caller.permissions],
        ...(caller.withheld === undefined ? {} : { withheld: [...caller.withheld] }),
        ...(caller.grantable === undefined ? {} : { grantable: [...caller.grantable] }),
        token_id: caller.tokenId,
        token_kind: caller.tokenKind,
        ...(caller.page === undefined ? {} : { page: caller.page }),
      };

/** `iss` is a process: it owns the key that has signed. */
const toContext = (claims: Claims): InternalContext => {
  const from = claims.iss as ProcessName;
  if (claims.sub === undefined) return { from, caller: GUEST };
  return {
    from,
    caller: {
      kind: 'user',
      userId: Number(claims.sub),
      permissions: new Set(claims.permissions.filter(isPermission)),
      ...(claims.withheld === undefined ? {} : { withheld: new Set(claims.withheld.filter(isPermission)) }),
      ...(claims.grantable === undefined
        ? {}
        : { grantable: new Set(claims.grantable.filter(isPermission)) }),
      tokenId: claims.token_id,
      tokenKind: claims.token_kind,
      ...(claims.page === undefined ? {} : { page: claims.page }),
    },
  };
};
