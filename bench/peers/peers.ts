/** Starts the programs that requests are compared with, as child processes that end with this one. */
import { execFile, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { eventually } from '../../test/e2e/support.ts';
import { PEER_PACKAGES, POCKETBASE } from '../config.ts';
import { FILES_OF_A_POST, postOf } from '../seed-posts.ts';
import posts from './pocketbase-posts.json' with { type: 'json' };

/** A peer is undefined if it is not installed. */
export interface Peers {
  /** A proxy in front of a page, and a token for it. */
  fastify?: { origin: string; token: string } | undefined;
  /** `token` is that of an ordinary user. */
  pocketBase?: { origin: string; token: string } | undefined;
}

const startFastify = async (role: string, argument: string): Promise<{ origin: string; token: string }> => {
  const main = fileURLToPath(new URL('./fastify/main.ts', import.meta.url));
  const child = fork(main, [role], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  process.once('exit', () => child.kill('SIGKILL'));
  child.send(argument);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the peer ${role} has ended`)));
  const [message] = await Promise.race([once(child, 'message'), ended]);
  return message;
};

const startProxy = async (answer: string): Promise<Peers['fastify']> => {
  const page = await startFastify('page', answer);
  return startFastify('proxy', page.origin);
};

const SUPERUSER = 'root@example.com';
const READER = 'reader@example.com';
const PASSWORD = 'benchmark-password-1';

const randomHex = (length: number): string => randomBytes(length).toString('hex').slice(0, length);

/** The same posts, each with two files in a field of files. */
const insertPosts = (file: string, count: number, userIds: readonly number[]): void => {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const columns = 'id, title, content, is_draft, in_blog, user_id, files, created, updated';
  const insert = database.prepare(`INSERT INTO posts (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  database.exec('BEGIN');
  for (let id = 1; id <= count; id += 1) {
    const { title, content, is_draft, in_blog, owner_user_id, created_at } = postOf(id, userIds);
    const written = created_at.toISOString().replace('T', ' ');
    const files = Array.from({ length: FILES_OF_A_POST }, () => `photo_${randomHex(10)}.webp`);
    const flags = [Number(is_draft), Number(in_blog), owner_user_id];
    insert.run(randomHex(15), title, content, ...flags, JSON.stringify(files), written, written);
  }
  database.exec('COMMIT');
  database.exec('ANALYZE');
  database.close();
};

const startPocketBase = async (
  command: string,
  count: number,
  userIds: readonly number[],
): Promise<Peers['pocketBase']> => {
  const directory = mkdtempSync(join(tmpdir(), 'fitness-pocketbase-'));
  // PocketBase reads and writes its migrations in a folder next to the data.
  const data = join(directory, 'data');
  await promisify(execFile)(command, ['superuser', 'upsert', SUPERUSER, PASSWORD, '--dir', data]);
  const [port] = await freePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  const child = spawn(command, ['serve', '--dev=false', '--http', `127.0.0.1:${port}`, '--dir', data]);
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  await eventually(() =>
    fetch(`${origin}/api/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const post = async (path: string, body: object, token = ''): Promise<{ token: string }> => {
    const headers = { authorization: token, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${origin}/api/collections${path}`, init);
    if (!response.ok) throw new Error(`PocketBase ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  const logIn = async (collection: string, identity: string) =>
    (await post(`/${collection}/auth-with-password`, { identity, password: PASSWORD })).token;
  const root = await logIn('_superusers', SUPERUSER);
  // The index matches the queries: the list rule uses `is_draft`, and `created` is the order.
  await post('', posts, root);
  await post('/users/records', { email: READER, password: PASSWORD, passwordConfirm: PASSWORD }, root);
  insertPosts(join(data, 'data.db'), count, userIds);
  return { origin, token: await logIn('users', READER) };
};

/** `answer` is the response body of the proxied page; the users are the authors of the posts. */
export const startPeers = async (
  answer: string,
  posts: number,
  userIds: readonly number[],
): Promise<Peers> => ({
  fastify: PEER_PACKAGES ? await startProxy(answer) : undefined,
  pocketBase: POCKETBASE ? await startPocketBase(POCKETBASE, posts, userIds) : undefined,
});
