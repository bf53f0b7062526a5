/** `npm run rebuild:content`: puts the copies of gyms, accounts and boosts right, and all counters. */
import { openFoundation } from '@fitness/shared/service.ts';
import { rebuild } from './app/rebuild.ts';
import { readConfig } from './config.ts';
import { createParts } from './parts.ts';

const config = readConfig();
const foundation = await openFoundation('content', config);
try {
  const done = await rebuild(createParts(foundation, config));
  process.stdout.write(`rebuilt ${done.profiles} profiles and ${done.trainingServices} training services\n`);
} finally {
  await foundation.cleanup.close();
}
