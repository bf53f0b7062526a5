/**
 * Bearer tokens: opaque, prefixed by kind and checksummed, so that a secret scanner finds a leaked one and can tell it
 * from a look-alike without asking us. Only the hash is ever stored.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What is presented at the API. */
export type TokenKind = 'session' | 'personal' | 'oauth';

/** What an OAuth client presents at the token endpoint only. */
export type GrantSecret = 'refresh' | 'code';

const PREFIX: Readonly<Record<TokenKind | GrantSecret, string>> = {
  session: 'fps_',
  personal: 'fpp_',
  oauth: 'fpo_',
  refresh: 'fpr_',
  code: 'fpc_',
};

/** 240 bits: 40 characters of base64url without a remainder. */
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

/** Whether it could be one of ours; no secret is needed to tell. */
export const isWellFormedToken = (token: string): boolean =>
  TOKEN.test(token) && checksum(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH);

/** What is stored, and the id of the token everywhere inside: SHA-256 in hex. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
