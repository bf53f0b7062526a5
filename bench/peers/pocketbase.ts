/** PocketBase with the same posts, each with two files in a file field. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { POCKETBASE } from '../config.ts';
import { FILES_OF_A_POST, postOf } from '../seed-posts.ts';
import { spawnPeer } from './spawn.ts';

export interface PocketBase {
  origin: string;
  /** Token of an ordinary user. */
  token: string;
}

const SUPERUSER = 'root@example.com';
const READER = 'reader@example.com';
const PASSWORD = 'benchmark-password-1';

/** The index matches the queries: the list rule uses `is_draft`, and `created` is the order. */
const POSTS = {
  name: 'posts',
  type: 'base',
  listRule: 'is_draft = false',
  viewRule: 'is_draft = false',
  fields: [
    { name: 'title', type: 'text', required: true },
    { name: 'content', type: 'text', max: 20_000 },
    { name: 'is_draft', type: 'bool' },
    { name: 'in_blog', type: 'bool' },
    { name: 'user_id', type: 'number' },
    { name: 'files', type: 'file', maxSelect: 10, maxSize: 26_214_400 },
    { name: 'created', type: 'autodate', onCreate: true },
    { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
  ],
  indexes: ['CREATE INDEX idx_posts_created ON posts (is_draft, created)'],
};

const insertPosts = (file: string, count: number, userIds: readonly number[]): void => {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const insert = database.prepare(
    'INSERT INTO posts (id, title, content, is_draft, in_blog, user_id, files, created, updated) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  database.exec('BEGIN');
  for (let id = 1; id <= count; id += 1) {
    const post = postOf(id, userIds);
    const written = post.created_at.toISOString().replace('T', ' ');
    const files = Array.from(
      { length: FILES_OF_A_POST },
      () => `photo_${randomBytes(5).toString('hex')}.webp`,
    );
    insert.run(
      randomBytes(10).toString('hex').slice(0, 15),
      post.title,
      post.content,
      Number(post.is_draft),
      Number(post.in_blog),
      post.owner_user_id,
      JSON.stringify(files),
      written,
      written,
    );
  }
  database.exec('COMMIT');
  database.exec('ANALYZE');
  database.close();
};

export const startPocketBase = async (count: number, userIds: readonly number[]): Promise<PocketBase> => {
  const command = POCKETBASE ?? '';
  const directory = mkdtempSync(join(tmpdir(), 'fitness-pocketbase-'));
  // PocketBase reads and writes its migrations in a folder next to the data.
  const dataDirectory = join(directory, 'data');
  const data = ['--dir', dataDirectory];
  await promisify(execFile)(command, ['superuser', 'upsert', SUPERUSER, PASSWORD, ...data]);
  const [port] = await freePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  const args = ['serve', '--dev=false', '--http', `127.0.0.1:${port}`, ...data];
  await spawnPeer(command, args, (line) => line.includes('Dashboard'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const post = async (path: string, body: object, token = ''): Promise<{ token: string }> => {
    const headers = { authorization: token, 'content-type': 'application/json' };
    const response = await fetch(`${origin}/api/collections${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`PocketBase ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  const logIn = async (collection: string, identity: string) =>
    (await post(`/${collection}/auth-with-password`, { identity, password: PASSWORD })).token;
  const root = await logIn('_superusers', SUPERUSER);
  await post('', POSTS, root);
  await post('/users/records', { email: READER, password: PASSWORD, passwordConfirm: PASSWORD }, root);
  insertPosts(join(dataDirectory, 'data.db'), count, userIds);
  return { origin, token: await logIn('users', READER) };
};
