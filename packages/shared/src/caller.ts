/**
 * The signed caller context. The gateway decides who is calling and signs it for a few seconds; services and gRPC
 * refuse anything unsigned. It is a JWT (HS256) over the secret that all processes share; RFC 7519.
 */
import { createSecretKey } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Clock } from './clock.ts';
import { isPermission, type Permission } from './permissions.ts';

export interface UserCaller {
  kind: 'user';
  userId: number;
  permissions: ReadonlySet<Permission>;
  tokenId: string;
  tokenKind: 'session' | 'personal' | 'oauth';
}

/** Every kind of token there is. */
export const ANY_TOKEN: readonly UserCaller['tokenKind'][] = ['session', 'personal', 'oauth'];
/** The user himself and his own programs: not the apps of others that he has let in. */
export const FIRST_PARTY: readonly UserCaller['tokenKind'][] = ['session', 'personal'];

export type Caller = UserCaller | { kind: 'guest' };

export const GUEST: Caller = { kind: 'guest' };

export const can = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.permissions.has(permission);

/** Who asks over the internal wire: a process of ours, and the user on whose behalf, if any. */
export interface InternalContext {
  /** The calling process, e.g. `gateway` or `identity`. */
  from: string;
  caller: Caller;
}

/** HTTP header and gRPC metadata key of the signed context. */
export const CALLER_HEADER = 'x-caller-context';
const AUDIENCE = 'fitness-internal';
const LIFETIME_S = 30;
const CLOCK_TOLERANCE_S = 10;
/** A process speaks for itself far more often than for a user: it does so with one token for this long. */
const OWN_TOKEN_S = 5;
const MAX_KNOWN_TOKENS = 1_000;

const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string().regex(/^\d+$/).optional(),
  permissions: z.array(z.string()).optional(),
  token_id: z.string().optional(),
  token_kind: z.enum(['session', 'personal', 'oauth']).optional(),
});

export interface CallerSigner {
  sign(context: InternalContext): Promise<string>;
  /** Undefined for anything that is missing, expired, or not signed by us. */
  verify(token: string | undefined): Promise<InternalContext | undefined>;
}

export const createCallerSigner = (secret: string, clock: Clock): CallerSigner => {
  // A key object is imported once; bytes would be at every call, in the thread pool that also hashes passwords.
  const key = createSecretKey(secret, 'utf8');
  const seconds = (): number => Math.floor(clock.now().getTime() / 1_000);
  const issue = ({ from, caller }: InternalContext): Promise<string> => {
    const now = seconds();
    const claims =
      caller.kind === 'user'
        ? {
            permissions: [...caller.permissions],
            token_id: caller.tokenId,
            token_kind: caller.tokenKind,
          }
        : {};
    const jwt = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(from)
      .setAudience(AUDIENCE)
      .setIssuedAt(now)
      .setExpirationTime(now + LIFETIME_S);
    if (caller.kind === 'user') jwt.setSubject(String(caller.userId));
    return jwt.sign(key);
  };
  const read = async (token: string): Promise<Verified | undefined> => {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        audience: AUDIENCE,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: clock.now(),
        requiredClaims: ['exp'],
      });
      return { context: toContext(claimsSchema.parse(payload)), expiresAt: payload.exp ?? 0 };
    } catch {
      return undefined;
    }
  };
  const own = new Map<string, { token: Promise<string>; issuedAt: number }>();
  const others = new Map<string, Verified>();
  return {
    sign: (context) => {
      if (context.caller.kind === 'user') return issue(context);
      const now = seconds();
      const known = own.get(context.from);
      if (known !== undefined && now >= known.issuedAt && now < known.issuedAt + OWN_TOKEN_S) {
        return known.token;
      }
      const token = issue(context);
      own.set(context.from, { token, issuedAt: now });
      return token;
    },
    verify: async (token) => {
      if (token === undefined) return undefined;
      const known = others.get(token);
      if (known !== undefined && seconds() < known.expiresAt) return known.context;
      const verified = await read(token);
      // Only what a process says for itself comes again; one token for each of them.
      if (verified?.context.caller.kind === 'guest') {
        if (others.size >= MAX_KNOWN_TOKENS) others.clear();
        others.set(token, verified);
      }
      return verified?.context;
    },
  };
};

interface Verified {
  context: InternalContext;
  /** Seconds since 1970. */
  expiresAt: number;
}

const toContext = (claims: z.output<typeof claimsSchema>): InternalContext => {
  if (claims.sub === undefined) return { from: claims.iss, caller: GUEST };
  return {
    from: claims.iss,
    caller: {
      kind: 'user',
      userId: Number(claims.sub),
      permissions: new Set((claims.permissions ?? []).filter(isPermission)),
      tokenId: claims.token_id ?? '',
      tokenKind: claims.token_kind ?? 'session',
    },
  };
};
