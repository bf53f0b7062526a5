/**
 * Bearer tokens: opaque, with a prefix for their kind and a checksum. A secret scanner can recognize a leaked token
 * offline. Only the hash is stored.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { CallerTokenKind } from '@fitness/shared/kernel/caller.ts';

/** Tokens accepted by the API. */
export type TokenKind = 'session' | 'personal' | 'oauth';

/** Secrets accepted only by the OAuth token endpoint. */
export type GrantSecret = 'refresh' | 'code';

const PREFIX: Readonly<Record<TokenKind | GrantSecret, string>> = {
  session: 'fps_',
  personal: 'fpp_',
  oauth: 'fpo_',
  refresh: 'fpr_',
  code: 'fpc_',
};

/** 240 bits: 40 characters of base64url without padding. */
export const TOKEN_ENTROPY_BYTES = 30;
const TOKEN = /^fp[spo]_[A-Za-z0-9_-]{40}[0-9a-f]{8}$/;
const CHECKSUM_LENGTH = 8;

const checksum = (text: string): string => crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0');

/** `<prefix><40 random characters><crc32 of both, in hex>`. */
export const buildToken = (kind: TokenKind | GrantSecret, entropy: Buffer): string => {
  if (entropy.length !== TOKEN_ENTROPY_BYTES) throw new Error(`a token needs ${TOKEN_ENTROPY_BYTES} bytes`);
  const text = `${PREFIX[kind]}${entropy.toString('base64url')}`;
  return `${text}${checksum(text)}`;
};

/** Checks format and checksum. Does not say whether the token exists. */
export const isWellFormedToken = (token: string): boolean =>
  TOKEN.test(token) && checksum(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH);

/** A personal token with a list of permissions is restricted to that list, even if it is empty. */
export const callerKindOf = ({
  kind,
  permissions,
}: {
  kind: TokenKind;
  permissions: readonly string[] | null;
}): CallerTokenKind => (kind === 'personal' && permissions !== null ? 'restricted' : kind);

/** SHA-256 in hex: the id of a token inside the platform. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** The `_id` of an OAuth record. */
export const recordKey = (kind: string, id: string): string => `${kind}:${hashToken(id)}`;

export const grantKey = (grantId: string): string => recordKey('Grant', grantId);
