import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startStoreBilling } from './service.ts';

await runProcess(async () => startStoreBilling(readConfig()));
