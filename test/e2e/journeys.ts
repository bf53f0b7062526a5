/**
 * Runs typical user journeys as a load while processes stop and start. Each journey uses new accounts, expects a
 * certain response to each request, and lists the effects that its events must have later.
 */
import { randomUUID } from 'node:crypto';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { type Answer, eventually } from '@fitness/shared/testing/harness.ts';
import { PASSWORD, PNG, sevenDigits } from './support.ts';

/** An effect that an event must have exactly once after all events are handled. */
interface Effect {
  name: string;
  count(): Promise<number>;
}

interface LoadResult {
  journeys: number;
  requests: number;
  /** Wrong responses, and requests without a response. */
  failures: string[];
  /** Journeys that ended at a request with an unknown outcome. Only if interruptions are allowed. */
  interrupted: string[];
  effects: number;
  /** Effects that are missing or duplicated. */
  wrongEffects: string[];
}

interface LoadOptions {
  baseUrl: string;
  sandboxUrl: string;
  administrator: string;
  workers: number;
  /**
   * Processes are killed, so pending requests may get no response. A repeatable request (a read, or one with an
   * idempotency key) is repeated; any other ends its journey. Without this option, each such request is a failure.
   */
  allowsInterruptions?: boolean;
}

interface Sent {
  token?: string;
  body?: unknown;
  /** Sends an idempotency key, so the request may be repeated. */
  keyed?: boolean;
}

type Json = Answer['body'];
type Send = (method: string, path: string, expected: number, sent?: Sent) => Promise<Json>;

class Interrupted extends Error {}
class Failed extends Error {}

/** Response of a gateway or balancer whose service has gone away. */
const GONE = new Set([502, 503, 504]);
/** Ten seconds: within that time, a repeat finishes or replays the request of a killed process. */
const ATTEMPTS = 40;
const REPEAT_AFTER_MS = 250;

interface Person {
  id: number;
  token: string;
}

interface Context {
  send: Send;
  sandbox(method: string, path: string, body?: unknown): Promise<Json>;
  expectLater(name: string, count: Effect['count']): void;
  administrator: string;
}

const register = async ({ send }: Context): Promise<Person> => {
  const name = `j${process.hrtime.bigint().toString(36)}${sevenDigits()}`;
  const { user, token } = await send('POST', '/auth/register', 201, {
    body: {
      username: name,
      email: `${name}@example.com`,
      phone: `+98912${sevenDigits()}`,
      password: PASSWORD,
      first_name: 'Sara',
      last_name: 'Ahmadi',
    },
  });
  return { id: user.id, token };
};

const rowsOf = async ({ send }: Context, path: string, { token }: Pick<Person, 'token'>): Promise<Json[]> =>
  (await send('GET', path, 200, { token })).data;

const deposit = async (context: Context, { token }: Person, amount: number): Promise<void> => {
  const { send, sandbox } = context;
  const opened = await send('POST', '/payments/deposit', 201, { token, body: { amount }, keyed: true });
  const { location } = await sandbox(
    'POST',
    `/zibal/${new URL(opened.payment_url).pathname.split('/').at(-1)}/pay`,
  );
  const { pathname, search } = new URL(location);
  await send('GET', `${pathname.replace('/api/v1', '')}${search}`, 200);
};

const notificationsOf = async (context: Context, person: Person, type: string): Promise<number> =>
  (await rowsOf(context, '/notifications', person)).filter((row) => row.type === type).length;

type Journey = (context: Context) => Promise<void>;

const payIn: Journey = async (context) => {
  const { send, expectLater } = context;
  const person = await register(context);
  await deposit(context, person, 50_000);
  const { balance } = await send('GET', '/payments/balance', 200, { token: person.token });
  if (balance !== 50_000) throw new Failed(`a balance of ${balance} after a deposit of 50,000`);
  expectLater('the notification of a deposit', () => notificationsOf(context, person, 'deposit_credited'));
};

const post: Journey = async (context) => {
  const { send, expectLater } = context;
  const { id: profile_id, token } = await register(context);
  const body = { profile_type: MODEL.user, profile_id, title: 'Journey', content: 'Journey' };
  const { id } = (await send('POST', '/posts', 201, { token, body })).data;
  const form = new FormData();
  form.set('attachable_type', MODEL.post);
  form.set('attachable_id', String(id));
  form.set('file', new Blob([PNG]), 'a.png');
  await send('POST', '/media', 201, { token, body: form });
  await send('PUT', `/posts/${id}`, 200, { token, body: { title: 'Changed' } });
  const shown = await send('GET', `/posts/${id}`, 200, { token });
  if (shown.data.title !== 'Changed') throw new Failed(`the title ${shown.data.title} after a change`);
  expectLater(
    'the file of a post',
    async () => (await send('GET', `/posts/${id}`, 200, { token })).data.media.length,
  );
};

const train: Journey = async (context) => {
  const { send, expectLater } = context;
  const [trainer, trainee] = [await register(context), await register(context)];
  const body = { title: 'Journey', description: 'Plan', price: 10_000, duration_days: 30 };
  const { id } = (await send('POST', '/training-services', 201, { token: trainer.token, body })).data;
  await deposit(context, trainee, 10_000);
  await send('POST', `/training-services/${id}/purchase`, 201, { token: trainee.token, keyed: true });
  const { balance } = await send('GET', '/payments/balance', 200, { token: trainee.token });
  if (balance !== 0) throw new Failed(`a balance of ${balance} after a purchase for all of it`);
  expectLater('the notification of a trainer', () =>
    notificationsOf(context, trainer, 'training_service_sold'),
  );
};

const subscribe: Journey = async (context) => {
  const { send, sandbox, expectLater } = context;
  const person = await register(context);
  const bought = `journey-${randomUUID()}`;
  await sandbox('PUT', `/store/purchases/${bought}`, { product_id: 'premium_plus', state: 'purchased' });
  const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: bought };
  await send('POST', '/payments/store-purchases', 201, { token: person.token, body });
  expectLater(
    'the payment of a store purchase',
    async () => (await rowsOf(context, '/payments?type=store_purchase', person)).length,
  );
};

const boost: Journey = async (context) => {
  const { send, sandbox, expectLater } = context;
  const { token } = await register(context);
  const gym = { name: 'Journey', address: 'Here', location_lat: 35.7, location_lng: 51.4 };
  const { id } = (await send('POST', '/gyms', 201, { token, body: gym })).gym;
  const bought = `journey-${randomUUID()}`;
  await sandbox('PUT', `/store/purchases/${bought}`, { product_id: 'boost_basic', state: 'purchased' });
  const target = { boostable_type: 'gym', boostable_id: id };
  const body = { channel: 'cafebazaar', product_id: 'boost_basic', purchase_token: bought, ...target };
  await send('POST', '/payments/store-purchases', 201, { token, body });
  expectLater('the boost of a gym', async () =>
    (await send('GET', `/gyms/${id}`, 200, { token })).gym.boost === null ? 0 : 1,
  );
};

const erase: Journey = async (context) => {
  const { send, expectLater, administrator } = context;
  const { id: profile_id, token } = await register(context);
  const body = { profile_type: MODEL.user, profile_id, title: 'Journey', content: 'Journey' };
  const { id } = (await send('POST', '/posts', 201, { token, body })).data;
  await send('DELETE', `/users/${profile_id}`, 204, { token: administrator });
  await send('GET', '/auth/me', 401, { token });
  expectLater('the erasure of a post', () => send('GET', `/posts/${id}`, 404, {}).then(() => 1));
};

const JOURNEYS: Readonly<Record<string, Journey>> = { payIn, post, train, subscribe, boost, erase };

const bodyOf = ({ body, token, keyed }: Sent, key: string): RequestInit => ({
  redirect: 'manual',
  headers: {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    ...(keyed === true ? { 'idempotency-key': key } : {}),
  },
  ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
});

interface Outcome {
  /** 0 means that there is no response. */
  status: number;
  text: string;
  retryAfter: string | null;
}

const request = async (url: string, init: RequestInit): Promise<Outcome> => {
  try {
    const response = await fetch(url, init);
    const { status, headers } = response;
    return { status, text: await response.text(), retryAfter: headers.get('retry-after') };
  } catch (error) {
    return { status: 0, text: String((error as Error).cause ?? error), retryAfter: null };
  }
};

/**
 * A killed process may keep a request's idempotency key for a few seconds. Until then, a repeat gets a 409 with
 * `Retry-After`.
 */
const isStillRunning = ({ status, retryAfter }: Outcome): boolean => status === 409 && retryAfter !== null;

const createSend =
  ({ baseUrl, allowsInterruptions = false }: Omit<LoadOptions, 'workers'>, result: LoadResult): Send =>
  async (method, path, expected, sent = {}) => {
    const init = { method, ...bodyOf(sent, randomUUID()) };
    const isRepeatable = method === 'GET' || sent.keyed === true;
    for (let left = ATTEMPTS; ; left -= 1) {
      result.requests += 1;
      const outcome = await request(`${baseUrl}/api/v1${path}`, init);
      const { status, text } = outcome;
      if (status === expected) return text.startsWith('{') ? JSON.parse(text) : {};
      const what = `${method} ${path.split('?')[0]?.replaceAll(/\d+/g, 'n')}: ${status} ${text.slice(0, 120)}`;
      const isGone = status === 0 || GONE.has(status) || isStillRunning(outcome);
      if (!allowsInterruptions || !isGone) throw new Failed(what);
      if (!isRepeatable) throw new Interrupted(what);
      if (left === 0) throw new Failed(`${ATTEMPTS} attempts: ${what}`);
      await sleep(REPEAT_AFTER_MS);
    }
  };

const createSandbox =
  ({ sandboxUrl }: Pick<LoadOptions, 'sandboxUrl'>): Context['sandbox'] =>
  async (method, path, body) => {
    const response = await fetch(`${sandboxUrl}/_sandbox${path}`, {
      method,
      ...bodyOf({ body }, ''),
    });
    if (response.status >= 400) throw new Error(`the sandbox returned ${response.status} to ${path}`);
    await response.body?.cancel();
    return { location: response.headers.get('location') };
  };

/** Effects that are still wrong after `withinMs`. */
const wrongOf = async (effects: readonly Effect[], withinMs: number): Promise<string[]> => {
  const giveUpAt = performance.now() + withinMs;
  const wrong: string[] = [];
  for (const { name, count } of effects) {
    let outcome: number | string = 0;
    const isOnce = async (): Promise<boolean> => {
      outcome = await count().catch((error: Error) => error.message);
      return outcome === 1;
    };
    const timeoutMs = Math.max(0, giveUpAt - performance.now());
    const isRight = await eventually(isOnce, { timeoutMs, intervalMs: 100 }).catch(() => false);
    if (!isRight) wrong.push(`${name}: ${outcome}`);
  }
  return wrong;
};

export interface Load {
  /**
   * Ends the load and waits until all effects exist. The result lists those that are still missing or duplicated
   * after `withinMs`.
   */
  finish(withinMs?: number): Promise<LoadResult>;
  readonly result: LoadResult;
}

const createRunner = (options: Omit<LoadOptions, 'workers'>) => {
  const result: LoadResult = {
    journeys: 0,
    requests: 0,
    failures: [],
    interrupted: [],
    effects: 0,
    wrongEffects: [],
  };
  const effects: Effect[] = [];
  const { administrator } = options;
  const common = { send: createSend(options, result), sandbox: createSandbox(options), administrator };

  const run = async (name: string, journey: Journey): Promise<void> => {
    const own: Effect[] = [];
    const expectLater: Context['expectLater'] = (effect, count) =>
      void own.push({ name: `${effect} (${name})`, count });
    result.journeys += 1;
    try {
      await journey({ ...common, expectLater });
      effects.push(...own);
    } catch (error) {
      const list = error instanceof Interrupted ? result.interrupted : result.failures;
      list.push(`${name}: ${(error as Error).message}`);
    }
  };

  const check = async (withinMs = 60_000): Promise<LoadResult> => {
    result.effects = effects.length;
    result.wrongEffects = await wrongOf(effects, withinMs);
    return result;
  };
  return { result, run, check };
};

/** Runs each journey once. */
export const runEachJourney = async (options: Omit<LoadOptions, 'workers'>): Promise<LoadResult> => {
  const { run, check } = createRunner(options);
  await Promise.all(Object.entries(JOURNEYS).map(([name, journey]) => run(name, journey)));
  return check();
};

export const startLoad = (options: LoadOptions): Load => {
  const { result, run, check } = createRunner(options);
  let isStopping = false;
  const work = async (worker: number): Promise<void> => {
    const all = Object.entries(JOURNEYS);
    for (let turn = worker; !isStopping; turn += 1) {
      const [name = '', journey = payIn] = all[turn % all.length] ?? [];
      await run(name, journey);
    }
  };
  const working = Promise.all(Array.from({ length: options.workers }, (_, worker) => work(worker)));

  return {
    result,
    finish: async (withinMs) => {
      isStopping = true;
      await working;
      return check(withinMs);
    },
  };
};
