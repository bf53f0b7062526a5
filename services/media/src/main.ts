import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startMedia } from './service.ts';

await runService(async (mode) => startMedia(readConfig(), mode));
