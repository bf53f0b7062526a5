import { afterEach, test } from '@jest/globals';
import { pause } from '../messaging/support.ts';
import {
  allConnected,
  closeAll,
  connect,
  distribution,
  expectEven,
  hostOf,
  NAME,
  resolveTo,
  startReplica,
} from './replicas.ts';

afterEach(closeAll);

test('a fourth replica of a name has its share within 30 s', async () => {
  const { port } = await startReplica(0);
  for (const index of [1, 2, 3]) await startReplica(index, { port });
  const records = resolveTo([0, 1, 2].map(hostOf));
  const client = connect(`${NAME}:${port}`);
  await allConnected(client, 3);
  records.hosts = [0, 1, 2, 3].map(hostOf);
  const addedAt = performance.now();
  while ((await distribution(client, 8, 8))[3] === undefined) {
    if (performance.now() - addedAt > 30_000) break;
    await pause(100);
  }
  expectEven(await distribution(client, 400, 8), 4);
}, 45_000);
