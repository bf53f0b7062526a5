/**
 * The service as a process of its own, that kills itself: once it is told `{killAt: n}`, right before it sends a
 * database of the ledger the n-th command. It says where: a line `killed before <command> <collection>`. `{seal: true}`
 * makes it seal what is booked.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { monitored } from '@fitness/shared/testing/commands.ts';
import mongoose from 'mongoose';
import { readConfig, sealsDatabase } from '../src/config.ts';
import { startWallet } from '../src/service.ts';

const config = monitored(readConfig());
const service = await startWallet(config);
// So that the next process starts sooner: this one does not live to do it at its end.
flushCompileCache();

let left = Number.POSITIVE_INFINITY;
const watch = (database: string): void => {
  const client = mongoose.connections.find(({ name }) => name === database)?.getClient();
  if (client === undefined) throw new Error(`the service has no connection to ${database}`);
  client.on('commandStarted', ({ commandName, command }) => {
    const collection = command[commandName];
    const isRelay =
      collection === 'relay_leases' || (collection === 'outbox' && command.autocommit !== false);
    if (isRelay || commandName === 'endSessions') return;
    left -= 1;
    if (left > 0) return;
    writeSync(1, `killed before ${commandName} ${typeof collection === 'string' ? collection : ''}\n`);
    process.kill(process.pid, 'SIGKILL');
  });
};
watch(config.MONGODB_DATABASE);
watch(sealsDatabase(config).database);

process.on('message', ({ killAt, seal }: { killAt?: number; seal?: boolean }) => {
  if (killAt !== undefined) left = killAt;
  if (seal === true) void service.sealLedger().then(() => process.send?.('sealed'));
  else process.send?.('armed');
});
process.send?.({ url: service.url, grpcAddress: service.grpcAddress });
