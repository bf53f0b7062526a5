/** Clients that openapi-generator makes from the API document compile, and decode the product's responses. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unwrap } from '@fitness/client';
import { expect, test } from '@jest/globals';
import {
  documentedSuccesses,
  kotlinClient,
  type Program,
  typescriptFetchClient,
} from '../clients/generate.ts';
import { baseUrl, clientOf, deposit, PASSWORD, register, sandbox } from './support.ts';

/** With the gateway's fee this is 3,030,000,000 rials, which does not fit in 32 bits. */
const AMOUNT = 300_000_000;

const CLIENTS: [string, () => Promise<Program>][] = [
  ['Kotlin', kotlinClient],
  ['TypeScript with fetch', typescriptFetchClient],
];

test.each(CLIENTS)(
  'the %s client signs in, lists posts, reads payments and purchases, and decodes a 409 and a 422',
  async (_name, prepare) => {
    const program = await prepare();
    const account = await register();
    await deposit(account.token, AMOUNT);
    const post = {
      profile_type: 'App\\Models\\User' as const,
      profile_id: account.id,
      title: 'Five exercises',
      content: 'Begin with a light weight.',
    };
    await unwrap(clientOf(account.token).POST('/api/v1/posts', { body: post }));
    const purchase = `generated-${randomUUID()}`;
    await sandbox('PUT', `/store/purchases/${purchase}`, { product_id: 'premium_plus', state: 'purchased' });

    const report = JSON.parse(await program([baseUrl(), account.username, PASSWORD, purchase]));
    expect(report).toEqual({
      userId: account.id,
      posts: expect.arrayContaining([expect.any(Number)]),
      payments: [{ type: 'deposit', amount: AMOUNT, chargedRial: 3_030_000_000 }],
      grant: { userId: account.id, type: 'plus' },
      blockers: [
        { code: 'unsettled_balance', balance: AMOUNT },
        expect.objectContaining({ code: 'active_premium' }),
      ],
      invalid: ['login'],
    });
  },
  900_000,
);

test.each(CLIENTS)(
  'the %s client decodes every documented successful response',
  async (_name, prepare) => {
    const program = await prepare();
    const successes = await documentedSuccesses();
    const directory = mkdtempSync(join(tmpdir(), 'successes-'));
    try {
      const file = join(directory, 'successes.json');
      writeFileSync(file, JSON.stringify(successes));
      expect(JSON.parse(await program(['decode', file]))).toEqual({
        decoded: successes.length,
        problems: [],
      });
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
  900_000,
);
