/** Tests what a request returns when the database is lost at its first command, its second, and so on. */
import { REQUEST_TIMEOUT_HEADER } from '../http/gateway-protocol.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { type Answer, apiClient, eventually, type Send } from './harness.ts';
import { type MongoProxy, type Side, startMongoProxy } from './mongo-proxy.ts';

/** Enough that all instances wait for the database at the same time. */
const INSTANCES = 4;
/**
 * The time limit of a request. A commit without a response is repeated until then; all else gets a response at once.
 */
const TIMEOUT_MS = 4 * SECOND_MS;
/** How long the instances wait for a database that cannot be reached. */
const DATABASE_WAIT_MS = 300;

interface Instance {
  url: string;
  close(): Promise<void>;
}

interface Loss<Case> {
  case: Case;
  answer: Answer;
  /** The command at which the database was lost. */
  at: string;
}

export interface LosingInstances {
  /**
   * Sends the request of each case, the first with a loss at its first command, the second at its second, and so on. Cases
   * after the last command of the request are left out.
   */
  loseAtEach<Case>(
    side: Side,
    cases: readonly Case[],
    request: (send: Send, each: Case) => Promise<Answer>,
  ): Promise<Loss<Case>[]>;
  close(): Promise<void>;
}

/** `start` starts an instance of `service` on the database of this address. */
export const startLosingInstances = async (
  service: ProcessName,
  uri: string,
  start: (uri: string, overrides: { databaseWaitMs: number }) => Promise<Instance>,
): Promise<LosingInstances> => {
  const open: { instance: Instance; proxy: MongoProxy }[] = [];
  const close = async (): Promise<void> => {
    for (const { proxy } of open) proxy.restore();
    await Promise.all(open.map(({ instance }) => instance.close()));
    await Promise.all(open.map(({ proxy }) => proxy.close()));
  };
  const openOne = async (): Promise<void> => {
    const proxy = await startMongoProxy(uri);
    try {
      open.push({ instance: await start(proxy.uri, { databaseWaitMs: DATABASE_WAIT_MS }), proxy });
    } catch (error) {
      await proxy.close();
      throw error;
    }
  };
  const opened = await Promise.allSettled(Array.from({ length: INSTANCES }, openOne));
  const failed = opened.find(({ status }) => status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw (failed as PromiseRejectedResult).reason;
  }

  const lose = async <Case>(
    { instance, proxy }: { instance: Instance; proxy: MongoProxy },
    nth: number,
    side: Side,
    request: (send: Send) => Promise<Answer>,
    each: Case,
  ): Promise<Loss<Case> | undefined> => {
    const send = apiClient(service, instance.url);
    const isBack = async (): Promise<boolean> => (await fetch(`${instance.url}/health/ready`)).ok;
    await eventually(isBack);
    let left = nth;
    let at: string | undefined;
    const isNth = (): boolean => {
      left -= 1;
      return left === 0;
    };
    void proxy.cutAt(isNth, side).then((command) => {
      at = command;
    });
    const limited: Send = (method, path, { headers, ...options } = {}) =>
      send(method, path, {
        ...options,
        headers: { ...headers, [REQUEST_TIMEOUT_HEADER]: String(TIMEOUT_MS) },
      });
    try {
      const answer = await request(limited);
      return at === undefined ? undefined : { case: each, answer, at };
    } finally {
      proxy.restore();
    }
  };

  return {
    loseAtEach: async (side, cases, request) => {
      const waiting = [...cases.entries()];
      const losses = await Promise.all(
        open.map(async (one) => {
          const results = [];
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            const [index, each] = next;
            results.push(await lose(one, index + 1, side, (send) => request(send, each), each));
          }
          return results;
        }),
      );
      return losses.flat().filter((loss) => loss !== undefined);
    },
    close,
  };
};
