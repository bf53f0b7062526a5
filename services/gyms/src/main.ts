import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startGyms } from './service.ts';

await runService(async (mode) => startGyms(readConfig(), mode));
