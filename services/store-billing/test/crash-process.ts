/** A crash-test process that runs as many instances of the service as the test opens. */
import { serveInstances } from '@fitness/shared/testing/crash-process.ts';
import { readConfig } from '../src/config.ts';
import { startStoreBilling } from '../src/service.ts';

const config = readConfig();
serveInstances(() => startStoreBilling(config, { withoutJobs: true }));
