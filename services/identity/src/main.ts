import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startIdentity } from './service.ts';

await runProcess(async () => startIdentity(readConfig()));
