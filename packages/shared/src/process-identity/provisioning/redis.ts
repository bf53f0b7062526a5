/** The users of Redis: each process has its own keys, and only the commands that the product sends. */
import { createHash } from 'node:crypto';
import { PROCESSES, type RedisUse } from './processes.ts';

/** `ping`: the health check of the previous release. */
const OF_CONNECTION = ['ping', 'info', 'client|setname'];

/** The keys below the namespace, and the commands. Commands inside a script are checked, too. */
const USES: Record<RedisUse, { keys: (process: string) => string; commands: readonly string[] }> = {
  limits: {
    keys: (process) => `${process}:limit:*`,
    commands: ['eval', 'evalsha', 'set', 'incrby', 'expire', 'pttl', 'multi', 'exec', 'get'],
  },
  idempotency: { keys: () => 'idempotency:*', commands: ['eval', 'get', 'set', 'del'] },
  revocations: { keys: () => 'credential-epoch:*', commands: ['set'] },
  'credential-cache': { keys: () => 'credential-epoch:*', commands: ['eval', 'mget', 'set'] },
  'score-locks': { keys: () => 'referral-score:*', commands: ['set', 'eval', 'get', 'pexpire', 'del'] },
};

const user = (name: string, rules: readonly string[]): string =>
  ['user', name, 'on', 'sanitize-payload', 'resetchannels', ...rules].join(' ');

/** The content of the file that `aclfile` names; it contains hashes of the passwords. `passwords`: user → password. */
export const redisAcl = (namespace: string, passwords: ReadonlyMap<string, string>): string => {
  const users = PROCESSES.map(({ name, redis }) => {
    const password = passwords.get(name);
    if (password === undefined) throw new Error(`${name} has no password`);
    const hash = createHash('sha256').update(password).digest('hex');
    const keys = redis.map((use) => `~${namespace}:${USES[use].keys(name)}`);
    const commands = new Set([...OF_CONNECTION, ...redis.flatMap((use) => USES[use].commands)]);
    return user(name, [
      `#${hash}`,
      'resetkeys',
      ...keys,
      '-@all',
      ...[...commands].map((each) => `+${each}`),
    ]);
  });
  // Health checks: without a password only PING is allowed.
  return `${[user('default', ['nopass', 'resetkeys', '-@all', '+ping']), ...users].join('\n')}\n`;
};
