import { runService } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startContent } from './service.ts';

await runService(async (mode) => startContent(readConfig(), mode));
