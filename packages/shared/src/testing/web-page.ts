/** The origin of a page, for tests in a browser. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PageServer {
  /** `http://localhost:<port>`: a different site from 127.0.0.1, and a secure context. */
  origin: string;
  close(): Promise<void>;
}

/** Answers every path with an empty page, except those of `scripts`: path → JavaScript. */
export const startPageServer = async (
  scripts: Readonly<Record<string, string>> = {},
): Promise<PageServer> => {
  const server = createServer((request, response) => {
    const script = scripts[(request.url ?? '').split('?')[0] ?? ''];
    const type = script === undefined ? 'text/html' : 'text/javascript';
    response
      .writeHead(200, { 'content-type': `${type}; charset=utf-8` })
      .end(script ?? '<!doctype html><title>App</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
