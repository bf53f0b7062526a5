/** A TCP proxy between a process and a server, which simulates a network partition. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The address of the server through this proxy. */
  uri: string;
  /** Passes nothing on and closes nothing, even on new connections, like a network that drops packets. */
  hold(): void;
  /** Closes the connections, and refuses new ones. */
  cut(): void;
  /** Passes data on again, including held data. */
  restore(): void;
  /** New connections lead there, as after a change of a name's address; open ones stay where they are. */
  switchTo(uri: string): void;
  close(): Promise<void>;
}

export const startTcpProxy = async (uri: string): Promise<TcpProxy> => {
  let target = new URL(uri);
  /** The other end of each socket. */
  const ends = new Map<Socket, Socket>();
  let state: 'open' | 'held' | 'cut' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    const pass = (from: Socket, to: Socket): void => {
      ends.set(from, to);
      from.setNoDelay(true);
      from.on('error', () => undefined);
      from.on('data', (chunk) => to.write(chunk));
      from.once('close', () => {
        ends.delete(from);
        // A server that has ended is as silent as its network.
        if (state !== 'held') to.destroy();
      });
      if (state === 'held') from.pause();
    };
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(uri);
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const each = (act: (socket: Socket) => void): void => {
    for (const socket of [...ends.keys()]) act(socket);
  };
  return {
    uri: proxied.href,
    hold: () => {
      state = 'held';
      each((socket) => socket.pause());
    },
    cut: () => {
      state = 'cut';
      each((socket) => socket.destroy());
    },
    restore: () => {
      state = 'open';
      each((socket) => (ends.get(socket)?.destroyed === false ? socket.resume() : socket.destroy()));
    },
    switchTo: (uri) => {
      target = new URL(uri);
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      each((socket) => socket.destroy());
      await closed;
    },
  };
};
