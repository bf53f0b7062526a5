import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startStoreBilling } from './service.ts';

await runService(async (mode) => startStoreBilling(readConfig(), mode));
