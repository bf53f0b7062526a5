import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startMedia } from './service.ts';

await runProcess(async () => startMedia(readConfig()));
