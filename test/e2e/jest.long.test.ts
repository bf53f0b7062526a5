/** Runs jest as an editor does, without `npm test`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { nodeBinary } from '../../scripts/lib/paths.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('jest itself runs a service test, with servers that end with it', async () => {
  // Only the database is started. The other servers are those of this run, which saves time.
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, REDIS_URL, AMQP_URL } = process.env;
  const child = spawn(
    nodeBinary,
    ['node_modules/.bin/jest', '--runTestsByPath', 'packages/shared/test/mongo/indexes.test.ts'],
    { cwd: root, env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, REDIS_URL, AMQP_URL } },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const [exitCode] = await once(child, 'close');
  expect([exitCode, output]).toEqual([0, expect.stringMatching(/^Tests: +\d+ passed, /m)]);
  expect(output).toMatch(/^jest: MongoDB: .* after /m);
});
