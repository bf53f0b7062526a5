/** A crash-test process with as many instances of the wallet as the test opens in it. `seal`: what is booked. */
import { serveInstances } from '@fitness/shared/testing/crash-process.ts';
import { readConfig } from '../src/config.ts';
import { startWallet } from '../src/service.ts';

const config = readConfig();
serveInstances(() => startWallet(config), { seal: ({ sealLedger }) => sealLedger() });
