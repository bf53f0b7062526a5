/** Clients that announce a body and stop sending it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { api, baseUrl, eventually, PASSWORD, register } from './support.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const stall = async (head: string[]) => {
  const { hostname, port } = new URL(baseUrl());
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  const heard = { text: '' };
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    heard.text += chunk.toString('latin1');
  });
  await once(socket, 'connect');
  socket.write(`${[...head, 'host: x', ''].join('\r\n')}\r\n{`);
  return heard;
};

test('300 stalled sign-ins and 100 stalled uploads are refused and delay no other client', async () => {
  const { token, username } = await register();
  const login = ['POST /api/v1/auth/login HTTP/1.1', 'content-type: application/json', 'content-length: 300'];
  const upload = [
    'POST /api/v1/media HTTP/1.1',
    `authorization: Bearer ${token}`,
    'content-type: multipart/form-data; boundary=x',
    'content-length: 100000',
  ];
  const logins = await Promise.all(Array.from({ length: 300 }, () => stall(login)));
  const uploads = await Promise.all(Array.from({ length: 100 }, () => stall(upload)));
  const signal = AbortSignal.timeout(30_000);
  expect((await fetch(`${baseUrl()}/health/ready`, { signal })).status).toBe(200);
  const headers = { authorization: `Bearer ${token}` };
  // The tokens of a hundred uploads are being checked at the same time.
  await eventually(
    async () => (await fetch(`${baseUrl()}/api/v1/auth/me`, { headers, signal })).status === 200,
  );
  const body = { login: username, password: PASSWORD };
  expect((await api('POST', '/auth/login', { body })).status).toBe(200);
  await eventually(() => [...logins, ...uploads].every(({ text }) => text !== ''));
  expect(new Set(logins.map(({ text }) => text.slice(9, 12)))).toEqual(new Set(['408']));
  expect(uploads.map(({ text }) => text.slice(9, 12))).toContain('408');
});
