import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startIdentity } from './service.ts';

await runService(async (mode) => startIdentity(readConfig(), mode));
