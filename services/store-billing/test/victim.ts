/**
 * The service as a process of its own, that kills itself: once it is told `{killAt: n}`, right before it sends its
 * database the n-th command. It says where: a line `killed before <command> <collection>`. Told anything else it
 * answers as soon as nothing that a request began is under way.
 */
import { writeSync } from 'node:fs';
import { monitored } from '@fitness/shared/testing/commands.ts';
import mongoose from 'mongoose';
import { readConfig } from '../src/config.ts';
import { startStoreBilling } from '../src/service.ts';

const config = monitored(readConfig());
const service = await startStoreBilling(config, { withoutJobs: true });
const client = mongoose.connections.find(({ name }) => name === config.MONGODB_DATABASE)?.getClient();
if (client === undefined) throw new Error('the service has no connection');

let left = Number.POSITIVE_INFINITY;
client.on('commandStarted', ({ commandName, command }) => {
  const collection = command[commandName];
  const isRelay = collection === 'relay_leases' || (collection === 'outbox' && command.autocommit !== false);
  if (isRelay) return;
  left -= 1;
  if (left > 0) return;
  writeSync(1, `killed before ${commandName} ${typeof collection === 'string' ? collection : ''}\n`);
  process.kill(process.pid, 'SIGKILL');
});
process.on('message', async ({ killAt }: { killAt?: number }) => {
  if (killAt === undefined) {
    await service.idle();
    process.send?.('idle');
    return;
  }
  left = killAt;
  process.send?.('armed');
});
process.send?.({ url: service.url });
