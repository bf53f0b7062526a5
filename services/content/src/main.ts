import { runProcess } from '@fitness/shared/lifecycle.ts';
import { readConfig } from './config.ts';
import { startContent } from './service.ts';

await runProcess(async () => startContent(readConfig()));
