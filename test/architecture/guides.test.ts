/** What the guides for app developers say in figures and lists is what the code does. */
import { HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { TTL_MS } from '@fitness/shared/mongo/idempotency.ts';
import { expect, test } from '@jest/globals';
import { IDEMPOTENT } from '../../packages/client/src/generated/idempotent.ts';
import { read } from './support.ts';

const RETRIES = 'docs/guides/apps/retries.md';

test(`${RETRIES} lists the operations that take an Idempotency-Key, and how long one is kept`, () => {
  const listed = [...read(RETRIES).matchAll(/^- `(POST [^`]+)`$/gm)].map(([, operation]) => operation);
  const operations = [...IDEMPOTENT].map((operation) => operation.replace('/api/v1', ''));
  expect(listed).toEqual(operations);
  expect(read(RETRIES)).toContain(`kept for ${TTL_MS / HOUR_MS} hours`);
  expect(read(RETRIES)).toContain(`After ${TTL_MS / HOUR_MS} hours a key is new`);
});

test(`${RETRIES} names the defaults of the client`, () => {
  const source = read('packages/client/src/retry.ts');
  const defaultOf = (name: string): number =>
    Number(new RegExp(`[{ ]${name} = ([\\d_]+)`).exec(source)?.[1]?.replaceAll('_', ''));
  for (const text of [
    `up to ${defaultOf('retries')} times (\`retries\`)`,
    `most ${defaultOf('maxRetryAfterSeconds')} seconds (\`maxRetryAfterSeconds\`)`,
    `${defaultOf('timeoutMs') / SECOND_MS} seconds until its answer begins (\`timeoutMs\`)`,
    `${defaultOf('uploadTimeoutMs') / SECOND_MS} seconds when it sends a file (\`uploadTimeoutMs\`)`,
  ])
    expect(read(RETRIES).replaceAll(/\s+/g, ' ')).toContain(text);
});
