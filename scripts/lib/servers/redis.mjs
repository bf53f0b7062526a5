import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { dockerCandidate, processServer, programCandidate } from './candidate.mjs';
import { images } from './images.mjs';
import { givenAnswers, redisAnswers } from './probe.mjs';

/** @param {import('./candidate.mjs').Context} context */
const uriIn = ({ ports }) => `redis://127.0.0.1:${ports.redis}`;

/** @param {import('./candidate.mjs').Context} context @param {string} command */
function redisServer(context, command) {
  const directory = join(context.directory, 'redis');
  mkdirSync(directory, { recursive: true });
  const args = [
    ...['--port', String(context.ports.redis), '--bind', '127.0.0.1', '--dir', directory, '--save', ''],
    ...['--appendonly', context.ephemeral ? 'no' : 'yes', '--daemonize', 'no'],
    ...(context.credentials ? ['--aclfile', join(context.credentials, 'redis/users.acl')] : []),
  ];
  const launch = { name: 'redis', command, args, cwd: directory };
  return processServer(context, uriIn(context), launch, () => redisAnswers(uriIn(context)));
}

/** @type {import('./candidate.mjs').ServerDefinition} */
export const redis = {
  name: 'Redis',
  uriVariable: 'REDIS_URL',
  check: async (uri) => ((await givenAnswers(uri, redisAnswers)) ? undefined : 'no Redis responds there'),
  candidates: [
    dockerCandidate(images.redis, (context) => ({
      name: 'redis',
      hostPort: context.ports.redis,
      containerPort: 6379,
      volume: '/data',
      args: [
        ...['redis-server', '--save', '', '--appendonly', 'yes', '--protected-mode', 'no'],
        ...(context.credentials ? ['--aclfile', '/run/credentials/users.acl'] : []),
      ],
      ...(context.credentials ? { mounts: { '/run/credentials': join(context.credentials, 'redis') } } : {}),
      uri: uriIn(context),
      answers: () => redisAnswers(uriIn(context)),
    })),
    programCandidate('redis-server', redisServer),
  ],
  advice: 'Install Redis 7 or newer (on Debian, as root: apt-get install redis-server), or set REDIS_URL.',
};
