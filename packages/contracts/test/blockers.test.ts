import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcServer, startGrpcServer } from '@fitness/shared/grpc/server.ts';
import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { testClient, testSigner } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BLOCKERS, type BlockersOf, blockerMessageKey, blockersService } from '../src/blockers.ts';

/** The blockers that these tests need. In the wallet, the type check requires all of them. */
const SOME: Partial<BlockersOf<'wallet'>> = {
  unsettled_balance: async (userId) => (userId === 7 ? { balance: -3 } : undefined),
  pending_withdrawal: async () => ({ count: 2 }),
};

let server: GrpcServer;
let client: GrpcClient<ReturnType<typeof grpcDefinitions.blockers>>;

beforeAll(async () => {
  const metrics = createMetrics('blockers-test', { defaults: false });
  server = await startGrpcServer({
    address: '127.0.0.1:0',
    services: [blockersService(SOME as BlockersOf<'wallet'>)],
    signer: testSigner('wallet'),
    metrics,
    log: createLog({ service: 'test', level: 'silent' }),
  });
  client = testClient('wallet', grpcDefinitions.blockers(), server.address);
});

afterAll(async () => {
  await client.close();
  await server.close();
});

const evaluate = (code: string, userId: number) => client.call('Evaluate', { code, user_id: userId });

describe('the blockers of a service', () => {
  test('a blocker reports whether it applies, with the extra keys of its row', async () => {
    expect(await evaluate('unsettled_balance', 7)).toEqual({ applies: true, extras_json: '{"balance":-3}' });
    expect(await evaluate('unsettled_balance', 8)).toEqual({ applies: false, extras_json: '{}' });
    expect(await evaluate('pending_withdrawal', 8)).toEqual({ applies: true, extras_json: '{"count":2}' });
  });

  test.each(['gym_ownership', 'unknown', '', 'constructor', '__proto__'])(
    'a blocker code of another service is not found: %j',
    async (code) => {
      await expect(evaluate(code, 7)).rejects.toMatchObject({ kind: 'not_found' });
    },
  );

  test.each([0, -1])('the invalid user id %d is refused', async (userId) => {
    await expect(evaluate('pending_withdrawal', userId)).rejects.toMatchObject({ kind: 'validation' });
  });
});

test.each([
  ['members', ''],
  ['operators', 'ops.'],
])(
  'the message for %s of each blocker uses the extra keys of its row, in every language',
  (_reader, prefix) => {
    for (const { code, extras } of BLOCKERS) {
      const key = `${prefix}${blockerMessageKey(code)}`;
      for (const texts of CATALOGUES.values()) {
        const forms = Object.entries(texts).filter(([name]) => name === key || name.startsWith(`${key}_`));
        expect(forms).not.toEqual([]);
        for (const [, text] of forms) {
          const parameters = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
          expect(parameters.sort()).toEqual(Object.keys(extras.shape).sort());
        }
      }
    }
  },
);
