import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startGyms } from './service.ts';

await runProcess(async () => startGyms(readConfig()));
