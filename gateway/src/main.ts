import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { readConfig } from './config.ts';
import { startGateway } from './service.ts';

await runProcess(async () => startGateway(readConfig()));
