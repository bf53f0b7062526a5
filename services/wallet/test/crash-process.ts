/** A crash-test process with any number of wallet instances. The work item `seal` seals the booked entries. */
import { serveInstances } from '@fitness/shared/testing/crash-process.ts';
import { readConfig } from '../src/config.ts';
import { startWallet } from '../src/service.ts';

const config = readConfig();
serveInstances(() => startWallet(config), { seal: ({ sealLedger }) => sealLedger() });
