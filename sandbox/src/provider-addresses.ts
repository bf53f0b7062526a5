/** A separate address for each provider, for clients whose host is configurable and whose paths are fixed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PROVIDERS } from './providers/index.ts';
import type { ProviderAddress } from './wire.ts';

/** Paths that the pages of providers need at every address. */
const SHARED_PATH = /^\/(?:_sandbox|assets)\//;
/** A client that uses the address as a proxy sends the whole URL. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

const pathBelow = (root: string, url: string): string => {
  const path = url.replace(ABSOLUTE_FORM, '');
  return SHARED_PATH.test(path) ? path : `${root}${path}`;
};

interface ProviderServers {
  /**
   * Listens on consecutive ports from `firstPort`, in the order of {@link PROVIDERS}, or on free ones for 0. Rejects if a port is
   * in use.
   */
  listen(where: { host: string; firstPort: number }): Promise<ProviderAddress[]>;
}

/** The servers share the routes of `app` and close with it. */
export const createProviderServers = (app: FastifyInstance): ProviderServers => {
  const servers = PROVIDERS.map(({ title, prefix }) => {
    // Only the first segment of `/cafebazaar/devapi/v2` belongs to the sandbox.
    const root = `/${prefix.split('/')[1]}`;
    const server = createServer((request, response) => {
      request.url = pathBelow(root, request.url ?? '/');
      app.routing(request, response);
    });
    return { title, server };
  });
  app.addHook('onClose', async () => {
    for (const { server } of servers) {
      server.close();
      server.closeAllConnections();
    }
  });
  return {
    listen: async ({ host, firstPort }) => {
      const addresses: ProviderAddress[] = [];
      for (const [index, { title, server }] of servers.entries()) {
        server.listen(firstPort === 0 ? 0 : firstPort + index, host);
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        addresses.push({ title, url: `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}` });
      }
      return addresses;
    },
  };
};
