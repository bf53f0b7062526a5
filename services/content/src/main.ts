import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startContent } from './service.ts';

await runProcess(async () => startContent(readConfig()));
