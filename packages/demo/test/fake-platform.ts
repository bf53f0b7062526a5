/** A fake of the public API used by the seed, and of the bank: in memory, over HTTP, with injected faults. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Body = Record<string, unknown>;

export interface FakeUser extends Body {
  id: number;
  username: string;
  phone: string;
  password: string;
  height: number | null;
  bank_account_number: string | null;
  deletion_requested_at: string | null;
  roles: { id: number; name: string }[];
  subscribed: boolean;
}

interface FakePayment {
  id: number;
  user_id: number;
  type: string;
  amount: number;
  is_done: boolean;
  rejected_at: string | null;
}

interface FakePost {
  id: number;
  user_id: number;
  title: string;
  is_draft: boolean;
  media: { id: number }[];
}

/** A lost connection before or after the effect of the request, or a 503 without an effect. */
type Fault = 'lost before' | 'lost after' | 'unavailable';

export interface FakePlatform {
  url: string;
  users: FakeUser[];
  gyms: { id: number; user_id: number }[];
  posts: FakePost[];
  services: { id: number; user_id: number; price: number }[];
  trainees: { id: number; seller_id: number; buyer_id: number }[];
  payments: FakePayment[];
  /** Every request of the last run: `POST /payments/deposit`. */
  requests: string[];
  /** The fault of a request, by its number (from 1) and name; undefined: none. */
  faultAt: (request: number, name: string) => Fault | undefined;
  /** Removes every payment from the bank. */
  losePayments(): void;
  balanceOf(user: FakeUser): number;
  close(): Promise<void>;
}

const ROLES = [
  { id: 1, name: 'member' },
  { id: 2, name: 'operator' },
  { id: 3, name: 'administrator' },
];
const PREMIUM_PRICE = 1_999_000;

interface Reply {
  status: number;
  body?: unknown;
  location?: string;
}

const ok = (body: unknown): Reply => ({ status: 200, body });
const created = (body: unknown): Reply => ({ status: 201, body });
const refused = (status: number, code = 'refused'): Reply => ({
  status,
  body: { message: code, error: code, code },
});

interface Context {
  platform: FakePlatform;
  nextId: () => number;
  tracks: Map<string, FakePayment>;
  /** Answers by user and idempotency key. */
  replays: Map<string, Reply>;
}

interface RouteInput {
  user: FakeUser;
  body: Body;
  query: URLSearchParams;
  id: number;
}

const book = (
  { platform, nextId }: Context,
  user: FakeUser,
  type: string,
  amount: number,
  isDone = true,
): FakePayment => {
  const payment = { id: nextId(), user_id: user.id, type, amount, is_done: isDone, rejected_at: null };
  platform.payments.push(payment);
  return payment;
};

const present = ({ password: _hidden, subscribed, ...user }: FakeUser): Body => ({
  ...user,
  current_subscription: subscribed ? { id: 1 } : null,
});

const isOperator = (user: FakeUser): boolean => user.roles.some(({ name }) => name !== 'member');

const routes: Record<string, (context: Context, input: RouteInput) => Reply> = {
  'PUT /auth/me': (_context, { user, body }) => {
    if ('bank_account_number' in body && body.current_password !== user.password) return refused(422);
    Object.assign(user, body);
    return ok({ user: present(user) });
  },
  'GET /roles': (_context, { user }) => (user.roles[0]?.id === 3 ? ok({ data: ROLES }) : refused(403)),
  'PUT /users/:id': ({ platform }, { body, id }) => {
    const target = platform.users.find((other) => other.id === id);
    if (target === undefined) return refused(404);
    target.roles = ROLES.filter((role) => (body.role_ids as number[]).includes(role.id));
    return ok({ user: present(target) });
  },
  'GET /gyms': ({ platform }, { query }) =>
    ok({ data: platform.gyms.filter((gym) => gym.user_id === Number(query.get('user_id'))) }),
  'POST /gyms': ({ platform, nextId }, { user }) => {
    platform.gyms.push({ id: nextId(), user_id: user.id });
    return created({ gym: platform.gyms.at(-1) });
  },
  'GET /posts': ({ platform }, { query }) =>
    ok({ data: platform.posts.filter((post) => post.user_id === Number(query.get('item_id'))) }),
  'POST /posts': ({ platform, nextId }, { user, body }) => {
    const { title, is_draft } = body as Pick<FakePost, 'title' | 'is_draft'>;
    platform.posts.push({ id: nextId(), user_id: user.id, title, is_draft, media: [] });
    return created({ data: platform.posts.at(-1) });
  },
  'PUT /posts/:id': ({ platform }, { body, id }) => {
    const post = platform.posts.find((other) => other.id === id);
    if (post === undefined) return refused(404);
    post.is_draft = body.is_draft === true;
    return ok({ data: post });
  },
  'POST /media': ({ platform, nextId }, { body }) => {
    const post = platform.posts.find((other) => other.id === Number(body.attachable_id));
    if (post === undefined || !String(body.file).endsWith('.jpg')) return refused(422);
    post.media.push({ id: nextId() });
    return created({ data: post.media.at(-1) });
  },
  'GET /training-services': ({ platform }, { query }) =>
    ok({ data: platform.services.filter((service) => service.user_id === Number(query.get('user_id'))) }),
  'POST /training-services': ({ platform, nextId }, { user, body }) => {
    platform.services.push({ id: nextId(), user_id: user.id, price: Number(body.price) });
    return created({ data: platform.services.at(-1) });
  },
  'POST /training-services/:id/purchase': (context, { user, id }) => {
    const { platform, nextId } = context;
    const service = platform.services.find((other) => other.id === id);
    const seller = platform.users.find((other) => other.id === service?.user_id);
    if (service === undefined || seller === undefined) return refused(404);
    if (platform.balanceOf(user) < service.price) return refused(400, 'payments.insufficient_balance');
    book(context, user, 'purchase', service.price);
    book(context, seller, 'income', service.price);
    book(context, seller, 'commission', service.price / 10);
    platform.trainees.push({ id: nextId(), seller_id: seller.id, buyer_id: user.id });
    return created({ data: platform.trainees.at(-1) });
  },
  'GET /trainees': ({ platform }, { user }) =>
    ok({ data: platform.trainees.filter((trainee) => trainee.seller_id === user.id) }),
  'GET /payments': ({ platform }, { user, query }) =>
    ok({
      data: platform.payments.filter((row) => row.user_id === user.id && row.type === query.get('type')),
    }),
  'GET /payments/balance': ({ platform }, { user }) => ok({ balance: platform.balanceOf(user) }),
  'GET /payments/prices': () => ok({ data: { premium: { plus: PREMIUM_PRICE } } }),
  'POST /payments/deposit': (context, { user, body }) => {
    const payment = book(context, user, 'deposit', Number(body.amount), false);
    context.tracks.set(String(payment.id), payment);
    return created({ payment, payment_url: `https://bank.example.com/start/${payment.id}` });
  },
  'POST /payments/withdrawals': (context, { user, body }) => {
    const amount = Number(body.amount);
    if (user.bank_account_number === null || amount > context.platform.balanceOf(user)) return refused(422);
    return created({ payment: book(context, user, 'withdrawal', amount, false) });
  },
  'POST /payments/:id/pay': ({ platform }, { user, id }) => {
    const payment = platform.payments.find((other) => other.id === id);
    if (!isOperator(user)) return refused(403);
    if (payment === undefined || payment.is_done) return refused(payment === undefined ? 404 : 409);
    payment.is_done = true;
    return ok({ payment });
  },
  'POST /payments/buy-premium': (context, { user }) => {
    if (user.subscribed) return refused(400, 'payments.premium_already_active');
    if (context.platform.balanceOf(user) < PREMIUM_PRICE)
      return refused(400, 'payments.insufficient_balance');
    book(context, user, 'purchase', PREMIUM_PRICE);
    user.subscribed = true;
    return created({ data: { id: 1 } });
  },
};

const signedIn = (user: FakeUser): Body => ({ token: `token-${user.id}`, user: present(user) });

const answerAsGuest = (
  context: Context,
  name: string,
  body: Body,
  query: URLSearchParams,
): Reply | undefined => {
  const { platform } = context;
  if (name === 'POST /auth/login') {
    const user = platform.users.find(
      (other) => other.username === body.login && other.password === body.password,
    );
    return user === undefined ? refused(422) : ok(signedIn(user));
  }
  if (name === 'POST /auth/register') {
    const isTaken = platform.users.some(
      ({ username, phone }) => username === body.username || phone === body.phone,
    );
    return isTaken ? refused(422) : created(signedIn(addUser(context, body as Partial<FakeUser>)));
  }
  if (name === 'GET /payments/deposit/callback') {
    const payment = context.tracks.get(query.get('trackId') ?? '');
    if (payment !== undefined) payment.is_done = true;
    return payment === undefined ? refused(404) : ok({ payment });
  }
  return undefined;
};

const addUser = ({ platform, nextId }: Context, fields: Partial<FakeUser>): FakeUser => {
  const user = {
    id: nextId(),
    height: null,
    bank_account_number: null,
    deletion_requested_at: null,
    roles: ROLES.slice(0, 1),
    subscribed: false,
    ...fields,
  } as FakeUser;
  platform.users.push(user);
  return user;
};

const answer = (context: Context, request: IncomingMessage, name: string, url: URL, body: Body): Reply => {
  const { platform, tracks, replays } = context;
  const sandboxPayment = /^POST \/_sandbox\/zibal\/(\d+)\/pay$/.exec(name);
  if (sandboxPayment !== null) {
    if (!tracks.has(sandboxPayment[1] ?? '')) return refused(404);
    // The public origin, at which the fake is not reachable.
    return {
      status: 302,
      location: `https://api.example.com/api/v1/payments/deposit/callback?trackId=${sandboxPayment[1]}`,
    };
  }
  const asGuest = answerAsGuest(context, name, body, url.searchParams);
  if (asGuest !== undefined) return asGuest;
  const user = platform.users.find(({ id }) => request.headers.authorization === `Bearer token-${id}`);
  if (user === undefined) return refused(401);
  const route = routes[name.replace(/\/\d+/, '/:id')];
  if (route === undefined) return refused(404, `the fake has no ${name}`);
  const key = `${user.id} ${String(request.headers['idempotency-key'])} ${name}`;
  const replayed = request.headers['idempotency-key'] === undefined ? undefined : replays.get(key);
  if (replayed !== undefined) return replayed;
  const id = Number(/\/(\d+)/.exec(name)?.[1]);
  const reply = route(context, { user, body, query: url.searchParams, id });
  if (reply.status < 300) replays.set(key, structuredClone(reply));
  return reply;
};

const send = (response: ServerResponse, { status, body, location }: Reply): void => {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(location === undefined ? {} : { location }),
  });
  response.end(JSON.stringify(body ?? {}));
};

/** JSON, or the fields of a form with the name of its file. */
const bodyOf = async (request: IncomingMessage): Promise<Body> => {
  const content = Buffer.concat(await request.toArray());
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return content.length === 0 ? {} : JSON.parse(content.toString());
  const form = await new Response(content, { headers: { 'content-type': type } }).formData();
  const file = form.get('file') as File;
  return { ...Object.fromEntries(form), file: file.name };
};

const handle = async (
  context: Context,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { platform } = context;
  const url = new URL(request.url ?? '', platform.url);
  const name = `${request.method} ${url.pathname.replace('/api/v1', '')}`;
  const body = await bodyOf(request);
  platform.requests.push(name);
  const fault = platform.faultAt(platform.requests.length, name);
  if (fault === 'lost before') return void request.socket.destroy();
  if (fault === 'unavailable') return send(response, refused(503));
  const reply = answer(context, request, name, url, body);
  if (fault === 'lost after') return void request.socket.destroy();
  send(response, reply);
};

/** Starts a fake that has an administrator, like identity after its first start. */
export const startFakePlatform = async (): Promise<FakePlatform> => {
  let lastId = 0;
  const platform: FakePlatform = {
    url: '',
    users: [],
    gyms: [],
    posts: [],
    services: [],
    trainees: [],
    payments: [],
    requests: [],
    faultAt: () => undefined,
    losePayments: () => context.tracks.clear(),
    balanceOf: (user) =>
      platform.payments
        .filter((payment) => payment.user_id === user.id)
        .filter(({ type, is_done: isDone, rejected_at: at }) =>
          type === 'withdrawal' ? at === null : isDone,
        )
        .reduce(
          (sum, { type, amount }) => sum + (['deposit', 'income'].includes(type) ? amount : -amount),
          0,
        ),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const nextId = (): number => {
    lastId += 1;
    return lastId;
  };
  const context: Context = { platform, nextId, tracks: new Map(), replays: new Map() };
  const server = createServer((request, response) => void handle(context, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  platform.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const administrator = { username: 'administrator', phone: '+989120000001', password: 'demo-password-1' };
  addUser(context, { ...administrator, roles: ROLES.slice(2) });
  return platform;
};
