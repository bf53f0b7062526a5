import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startWallet } from './service.ts';

await runService(async (mode) => startWallet(readConfig(), mode));
