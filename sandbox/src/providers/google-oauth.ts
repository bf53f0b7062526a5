/** The OAuth endpoint of Google's APIs, at which a service account exchanges a signed assertion for an access token. */
import { generateKeyPairSync } from 'node:crypto';
import formbody from '@fastify/formbody';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { asRecord, asText, type Harness, judgeCredential } from '../wire.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_SECONDS = 3_599;
const ASSERTION_SECONDS = 3_600;

const base64Json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON in base64url' });
    return z.NEVER;
  }
});
const headerSchema = base64Json.pipe(z.object({ alg: z.literal('RS256') }));
const claimsSchema = base64Json.pipe(
  z
    .object({ iss: z.string().min(1), aud: z.string().min(1), scope: z.string(), iat: z.int(), exp: z.int() })
    .refine(({ iat, exp }) => exp > iat && exp - iat <= ASSERTION_SECONDS),
);

/**
 * Checks the form of the assertion. Its signature is not checked, because no public key is known here. Its times are not
 * compared with the present, because a product under test moves its clock.
 */
function assertionProblem(assertion: string, scope: string): 'invalid_grant' | 'invalid_scope' | null {
  const [header, payload, signature, ...rest] = assertion.split('.');
  if (!signature || rest.length > 0 || !headerSchema.safeParse(header).success) return 'invalid_grant';
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success || judgeCredential(claims.data.iss) !== 'good') return 'invalid_grant';
  return claims.data.scope.split(' ').includes(scope) ? null : 'invalid_scope';
}

interface GoogleOauthOptions {
  /** URL of the API's scope. */
  scope: string;
  /** Different for each API, because a token is valid only for the API that it was issued for. */
  tokenPrefix: string;
}

export const googleOauth = ({ scope, tokenPrefix }: GoogleOauthOptions) => ({
  /** `POST /token` */
  mountToken: async (app: FastifyInstance, harness: Harness): Promise<void> => {
    await app.register(formbody);
    app.post('/token', async (request, reply) => {
      const body = asRecord(request.body);
      if (body.grant_type !== GRANT) return reply.code(400).send({ error: 'unsupported_grant_type' });
      const problem = assertionProblem(asText(body.assertion), scope);
      if (problem) {
        return reply.code(400).send({ error: problem, error_description: 'Invalid JWT assertion.' });
      }
      const expiresAt = Math.floor(harness.realTime.now().getTime() / SECOND_MS) + TOKEN_SECONDS;
      return reply.send({
        access_token: `${tokenPrefix}${expiresAt}`,
        expires_in: TOKEN_SECONDS,
        token_type: 'Bearer',
      });
    });
  },

  /** The access token contains its expiry and stays valid after a reset or restart of the sandbox. */
  judgeBearer: (harness: Harness, request: FastifyRequest): 'good' | 'missing' | 'refused' => {
    const bearer = asText(request.headers.authorization).replace(/^Bearer /i, '');
    if (judgeCredential(bearer) === 'refused') return 'refused';
    const expiry = bearer.startsWith(tokenPrefix) ? bearer.slice(tokenPrefix.length) : '';
    const expiresAt = /^\d+$/.test(expiry) ? Number(expiry) * SECOND_MS : 0;
    return expiresAt > harness.realTime.now().getTime() ? 'good' : 'missing';
  },
});

let generatedKey: string | undefined;

/** PEM. The sandbox accepts any key, but the product requires a valid one. */
export const serviceAccountKey = (): string => {
  generatedKey ??= generateKeyPairSync('rsa', { modulusLength: 2_048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  return generatedKey;
};
