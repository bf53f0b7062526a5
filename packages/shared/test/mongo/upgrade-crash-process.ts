/** `node upgrade-crash-process.ts <database>`: runs the upgrade and kills itself after the twentieth change. */
import { systemClock } from '../../src/kernel/clock.ts';
import { connectMongo } from '../../src/mongo/connect.ts';
import { upgradeData } from '../../src/mongo/upgrades.ts';
import { log, mongodbUri } from '../messaging/support.ts';
import { pricesAreNumbers } from './upgrade-example.ts';

const connection = await connectMongo({ uri: mongodbUri(), database: process.argv[2] ?? '', log });
const upgrade = pricesAreNumbers(connection, (changed) => {
  if (changed === 20) process.kill(process.pid, 'SIGKILL');
});
await upgradeData({ connection, clock: systemClock, log }, [upgrade]);
