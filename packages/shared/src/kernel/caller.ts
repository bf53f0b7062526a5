/**
 * The signed caller context. The gateway authenticates the caller and signs the result for a few seconds; services
 * refuse requests and calls without a valid signature. It is a JWT (RFC 7519, HS256) with the secret of all processes.
 */
import { createSecretKey } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Clock } from './clock.ts';
import { unavailable } from './error.ts';
import { isPermission, type Permission } from './permissions.ts';

/** `personal`: made without a list of permissions. `restricted`: made with one, which may be empty. */
export const ALL_TOKEN_KINDS = ['session', 'personal', 'restricted', 'oauth'] as const;
export type CallerTokenKind = (typeof ALL_TOKEN_KINDS)[number];
/** Tokens that may do what their user may; what a restricted or OAuth token may do is limited to its permissions. */
export const SESSION_AND_PERSONAL: readonly CallerTokenKind[] = ['session', 'personal'];
/** For credentials: a token must not outlive its revocation by making or changing others. */
export const SESSION_ONLY: readonly CallerTokenKind[] = ['session'];

export interface UserCaller {
  kind: 'user';
  userId: number;
  permissions: ReadonlySet<Permission>;
  /** What the token would have besides, if its user had a second factor. */
  withheld?: ReadonlySet<Permission>;
  tokenId: string;
  tokenKind: CallerTokenKind;
}

export type Caller = UserCaller | { kind: 'guest' };

export const GUEST: Caller = { kind: 'guest' };

export const can = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.permissions.has(permission);

/**
 * The user whose own resources the caller sees as their owner. `permission` covers these resources: a restricted or OAuth
 * token without it sees what everybody sees, and so does every such token where no permission covers them.
 */
export const ownerIdOf = (caller: Caller, permission?: Permission): number | undefined => {
  if (caller.kind === 'guest') return undefined;
  const isCovered = permission !== undefined && caller.permissions.has(permission);
  return isCovered || SESSION_AND_PERSONAL.includes(caller.tokenKind) ? caller.userId : undefined;
};

/** Whether the caller sees what belongs to user `userId` as its owner; see {@link ownerIdOf}. */
export const isOwn = (caller: Caller, userId: number | null | undefined, permission?: Permission): boolean =>
  userId != null && ownerIdOf(caller, permission) === userId;

/** The calling process, and the user on whose behalf it calls, if any. */
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
/** A process reuses one token for its own calls for this long: they are far more frequent than calls for a user. */
const OWN_TOKEN_REUSE_S = 5;
const MAX_VERIFIED_TOKENS = 1_000;

const claimsSchema = z.union([
  z.object({
    iss: z.string(),
    sub: z.string().regex(/^\d+$/),
    permissions: z.array(z.string()),
    withheld: z.array(z.string()).optional(),
    token_id: z.string(),
    token_kind: z.enum(ALL_TOKEN_KINDS),
  }),
  z.object({ iss: z.string(), sub: z.undefined().optional() }),
]);

export interface CallerSigner {
  sign(context: InternalContext): Promise<string>;
  /**
   * Undefined for a missing or invalid token. Throws 503 for one that is valid but expired: the calling process was late.
   * A 401 would tell the user that their own token is invalid, which it need not be.
   */
  verify(token: string | undefined): Promise<InternalContext | undefined>;
}

export const createCallerSigner = (secret: string, clock: Clock): CallerSigner => {
  // A key object is imported once; bytes would be imported at every call, in the thread pool that also hashes passwords.
  const key = createSecretKey(secret, 'utf8');
  const seconds = (): number => Math.floor(clock.now().getTime() / 1_000);
  const issue = ({ from, caller }: InternalContext): Promise<string> => {
    const now = seconds();
    const claims =
      caller.kind === 'user'
        ? {
            permissions: [...caller.permissions],
            ...(caller.withheld === undefined ? {} : { withheld: [...caller.withheld] }),
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
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw unavailable('the caller context has expired', error);
      return undefined;
    }
  };
  /** Tokens of this process without a user, by process name. */
  const ownTokens = new Map<string, { token: Promise<string>; issuedAt: number }>();
  /** Verified tokens of other processes, without a user. */
  const verifiedTokens = new Map<string, Verified>();
  return {
    sign: (context) => {
      if (context.caller.kind === 'user') return issue(context);
      const now = seconds();
      const known = ownTokens.get(context.from);
      if (known !== undefined && now >= known.issuedAt && now < known.issuedAt + OWN_TOKEN_REUSE_S) {
        return known.token;
      }
      const token = issue(context);
      ownTokens.set(context.from, { token, issuedAt: now });
      return token;
    },
    verify: async (token) => {
      if (token === undefined) return undefined;
      const known = verifiedTokens.get(token);
      if (known !== undefined && seconds() < known.expiresAt) return known.context;
      const verified = await read(token);
      // A token with a user is signed for one request and does not come again.
      if (verified?.context.caller.kind === 'guest') {
        if (verifiedTokens.size >= MAX_VERIFIED_TOKENS) verifiedTokens.clear();
        verifiedTokens.set(token, verified);
      }
      return verified?.context;
    },
  };
};

interface Verified {
  context: InternalContext;
  /** Unix time in seconds. */
  expiresAt: number;
}

const toContext = (claims: z.output<typeof claimsSchema>): InternalContext => {
  if (claims.sub === undefined) return { from: claims.iss, caller: GUEST };
  return {
    from: claims.iss,
    caller: {
      kind: 'user',
      userId: Number(claims.sub),
      permissions: new Set(claims.permissions.filter(isPermission)),
      ...(claims.withheld === undefined ? {} : { withheld: new Set(claims.withheld.filter(isPermission)) }),
      tokenId: claims.token_id,
      tokenKind: claims.token_kind,
    },
  };
};
