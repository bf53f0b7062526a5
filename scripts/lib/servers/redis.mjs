import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from '../paths.mjs';
import { aptInstall, canInstall } from './apt.mjs';
import { dockerCandidate, processServer } from './candidate.mjs';
import { images } from './images.mjs';
import { addressOf, answersAtAll, redisAnswers, redisVersion } from './probe.mjs';

/** @param {import('./candidate.mjs').Context} context */
const addressIn = ({ ports }) => ({ host: '127.0.0.1', port: ports.redis });

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
  return processServer(context, uriIn(context), launch, () => redisAnswers(addressIn(context)));
}

/** @type {import('./candidate.mjs').ServerDefinition} */
export const redis = {
  name: 'Redis',
  uriVariable: 'REDIS_URL',
  async check(uri) {
    if (uri.startsWith('rediss:')) return undefined;
    const address = addressOf(uri, 6379);
    return (await answersAtAll(() => redisAnswers(address))) ? undefined : 'no Redis responds there';
  },
  version: (uri) => redisVersion(addressOf(uri, 6379)),
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
      answers: () => redisAnswers(addressIn(context)),
    })),
    {
      engine: 'redis-server',
      title: 'redis-server on the PATH',
      async find(context) {
        const command = findExecutable('redis-server');
        return command ? redisServer(context, command) : 'there is no redis-server on the PATH';
      },
    },
    {
      engine: 'redis-server',
      title: 'redis-server, just installed by apt-get',
      async find(context) {
        if (!canInstall()) return 'apt-get or root is missing';
        const installed = await aptInstall(context.supervisor, ['redis-server'], context.logDirectory);
        const command = findExecutable('redis-server');
        return installed && command
          ? redisServer(context, command)
          : 'apt-get could not install redis-server';
      },
    },
  ],
  advice: 'Install Redis 7 or newer (on Debian, as root: apt-get install redis-server), or set REDIS_URL.',
};
