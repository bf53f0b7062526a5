import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startWallet } from './service.ts';

await runProcess(() => startWallet(readConfig()));
