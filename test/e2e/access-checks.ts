/** Checks `docs/access.md` against the running product: every route with the given tokens. */
import { request } from 'node:http';
import { beforeAll, expect, test } from '@jest/globals';
import {
  callApi,
  createCallers,
  inParallel,
  nameOf,
  type Plan,
  type TokenCaller,
  untilServed,
} from './access-callers.ts';
import { fulfils, type Kind, OWN_RESOURCES, ROUTES, type RouteRow, TOOLS } from './access-table.ts';
import { baseUrl, expectStatus, PASSWORD, sevenDigits } from './support.ts';

/** An id without a resource: an admitted request finds nothing and changes nothing. */
const NOBODY = '999999999';
export const LOGOUT = 'POST /auth/logout';

const sendMcp = async (token: string | undefined): Promise<{ status: number; text: string }> => {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const response = await untilServed(() => fetch(`${baseUrl()}/mcp`, { method: 'POST', headers, body }));
  return { status: response.status, text: await response.text() };
};

const probe = async ({ route }: RouteRow, token: string | undefined): Promise<Answered> => {
  if (route === 'POST /mcp') return { status: (await sendMcp(token)).status, code: undefined };
  const [method = '', path = ''] = route.split(' ');
  const body = method === 'POST' || method === 'PUT' ? { body: {} } : {};
  const answer = await callApi(method, path.replaceAll(/\{\w+\}/g, NOBODY), { token, ...body });
  return { status: answer.status, code: answer.body?.code };
};

interface Answered {
  status: number;
  code: unknown;
}

type Outcome = 'admitted' | 'refused' | 'needs a second factor' | `status ${number}`;

const outcomeOf = ({ status, code }: Answered, { opensTo }: RouteRow, kind: Kind): Outcome => {
  if (status === 403 && code === 'auth.second_factor_required') return 'needs a second factor';
  if (status === (kind === 'guest' ? 401 : 403)) return 'refused';
  // Guest routes may have limits per address, which all callers share here.
  const isLimited = status === 429 && opensTo.has('guest');
  const isAdmitted = status < 500 && ![401, 403, 405, 429].includes(status);
  return isAdmitted || isLimited ? 'admitted' : `status ${status}`;
};

const expected = (row: RouteRow, { kind, held, withheld }: Checked): Outcome => {
  if (!row.opensTo.has(kind)) return 'refused';
  if (kind === 'guest' || fulfils(held, row.needs)) return 'admitted';
  return fulfils(new Set([...held, ...withheld]), row.needs) ? 'needs a second factor' : 'refused';
};

interface Checked {
  kind: Kind;
  held: ReadonlySet<string>;
  withheld: ReadonlySet<string>;
  token?: string;
  name: string;
}

const GUEST: Checked = { kind: 'guest', held: new Set(), withheld: new Set(), name: 'guest' };

const WITH_BODY = new Set(['POST', 'PUT', 'DELETE']);

/** Sends a request that announces a body but withholds it, and returns the response. */
const probeWithheld = (path: string, method: string, token: string | undefined): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': '100',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const sent = request(`${baseUrl()}${path}`, { method, headers, agent: false }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      const isEnded = response.headers.connection === 'close';
      resolve({ status: isEnded ? (response.statusCode ?? 0) : 0, code: JSON.parse(text).code });
      sent.destroy();
    });
    sent.once('error', reject).flushHeaders();
  });

/** Routes where the table's refusal is not given before the body is read. */
const compareWithheld = async (checked: Checked): Promise<string[]> => {
  const differences: string[] = [];
  for (const row of ROUTES) {
    const should = expected(row, checked);
    const [method = '', path = ''] = row.route.split(' ');
    if (should === 'admitted' || !WITH_BODY.has(method)) continue;
    const full = path === '/mcp' ? path : `/api/v1${path.replaceAll(/\{\w+\}/g, NOBODY)}`;
    const outcome = outcomeOf(await probeWithheld(full, method, checked.token), row, checked.kind);
    if (outcome !== should) differences.push(`${row.route}, ${checked.name}: ${outcome}`);
  }
  return differences;
};

/** Differences from the table, as `route, caller: outcome`. */
export const compare = async (rows: readonly RouteRow[], checked: Checked): Promise<string[]> => {
  const differences: string[] = [];
  for (const row of rows) {
    const outcome = outcomeOf(await probe(row, checked.token), row, checked.kind);
    if (outcome !== expected(row, checked)) differences.push(`${row.route}, ${checked.name}: ${outcome}`);
  }
  return differences;
};

const mediaStatus = async (id: number, { token }: TokenCaller): Promise<number> =>
  (await callApi('GET', `/media/${id}`, { token })).status;

const allows = (status: number, refusals: readonly number[]): boolean => {
  if (status !== 200 && !refusals.includes(status)) throw new Error(`unexpected status ${status}`);
  return status === 200;
};

/** Several ways to access a resource must agree. */
const agree = (answers: boolean[]): boolean => {
  if (new Set(answers).size !== 1) throw new Error(`the responses differ: ${answers.join(', ')}`);
  return answers[0] === true;
};

const userOf = async (path: string, { token }: TokenCaller): Promise<Record<string, unknown>> =>
  expectStatus(await callApi('GET', path, { token }), 200).body.user;
const HIDDEN = ['email', 'phone', 'bank_account_number', 'trainer_license_link', 'referral_score', 'roles'];
const OWNER_FIELDS = ['user_id', 'gym_license_image', 'gym_license_link', 'gym_license_approved'];
const hasAll = (fields: readonly string[], resource: Record<string, unknown>): boolean =>
  agree(fields.map((field) => field in resource));

/** Whether the caller sees or changes the resource. Keys are the rows of the table. */
const OWN: Record<string, (caller: TokenCaller) => Promise<boolean>> = {
  'PUT /auth/me with another user name, e-mail, phone or bank account': async ({ token, account }) => {
    const changes = {
      // This is another spelling of the same name, so the account can still sign in.
      username: account.username.toUpperCase(),
      email: `new-${account.email}`,
      phone: `+98912${sevenDigits()}`,
      bank_account_number: 'IR820540102680020817909002',
    };
    const statuses = [];
    for (const change of Object.entries(changes)) {
      const body = { ...Object.fromEntries([change]), current_password: PASSWORD };
      statuses.push((await callApi('PUT', '/auth/me', { token, body })).status);
    }
    return agree(statuses.map((status) => allows(status, [403])));
  },
  'hidden fields of the account: GET /users/{id}': async (caller) =>
    hasAll(HIDDEN, await userOf(`/users/${caller.account.id}`, caller)),
  'hidden fields of the account: GET /auth/me': async (caller) =>
    hasAll(HIDDEN, await userOf('/auth/me', caller)),
  'deletion timestamps: GET /auth/me': async (caller) =>
    hasAll(['deletion_requested_at', 'deletion_scheduled_at'], await userOf('/auth/me', caller)),
  'trainer license document': async (caller) =>
    allows(await mediaStatus(caller.resources.trainerLicense, caller), [403]),
  'owner and license of a gym': async ({ token, resources }) =>
    hasAll(
      OWNER_FIELDS,
      expectStatus(await callApi('GET', `/gyms/${resources.gym}`, { token }), 200).body.gym,
    ),
  'inactive gym': async ({ token, resources }) =>
    allows((await callApi('GET', `/gyms/${resources.inactiveGym}`, { token })).status, [404]),
  'gym license document': async (caller) =>
    allows(await mediaStatus(caller.resources.gymLicense, caller), [403]),
  'draft of a post, and its files': async (caller) => {
    const { token, resources } = caller;
    const post = await callApi('GET', `/posts/${resources.draft}`, { token });
    const file = await mediaStatus(resources.draftFile, caller);
    return agree([allows(post.status, [403]), allows(file, [403])]);
  },
  'inactive training service: GET /training-services/{id}': async ({ token, resources }) =>
    allows(
      (await callApi('GET', `/training-services/${resources.inactiveService}`, { token })).status,
      [404],
    ),
  'inactive training service: GET /training-services': async ({ token, account, resources }) => {
    const answer = await callApi('GET', `/training-services?user_id=${account.id}`, { token });
    const { data } = expectStatus(answer, 200).body;
    return data.some(({ id }: { id: number }) => id === resources.inactiveService);
  },
  'files of an inactive training service': async (caller) =>
    allows(await mediaStatus(caller.resources.serviceFile, caller), [403]),
};

/** @param prepare runs after the callers are created */
export const checkAccess = (plans: readonly Plan[], prepare?: () => Promise<void>): void => {
  let callers: TokenCaller[];
  beforeAll(async () => {
    callers = await createCallers(plans);
    await prepare?.();
  });

  test('docs/access.md says who may call each route', async () => {
    const rows = ROUTES.filter(({ route }) => route !== LOGOUT);
    const guest = await compare(rows, GUEST);
    const others = await inParallel(callers, (caller) => compare(rows, { ...caller, name: nameOf(caller) }));
    expect([guest, ...others].flat()).toEqual([]);
  });

  test('a refused request ends the connection before its body is read', async () => {
    const guest = await compareWithheld(GUEST);
    const others = await inParallel(callers, (caller) =>
      compareWithheld({ ...caller, name: nameOf(caller) }),
    );
    expect([guest, ...others].flat()).toEqual([]);
  });

  test("docs/access.md says what a token sees and changes of its user's resources", async () => {
    expect(OWN_RESOURCES.map(({ resource }) => resource)).toEqual(Object.keys(OWN));
    // A session without any permissions does not see the user's own posts either.
    const owners = callers.filter(({ role }) => role !== 'none');
    const differences = await inParallel(owners, async (caller) => {
      const differing: string[] = [];
      for (const { resource, access } of OWN_RESOURCES) {
        const needs = access[caller.kind];
        const should = typeof needs === 'boolean' ? needs : fulfils(caller.held, needs);
        const does = await OWN[resource]?.(caller);
        if (does !== should) differing.push(`${resource}, ${nameOf(caller)}: ${does}`);
      }
      return differing;
    });
    expect(differences.flat()).toEqual([]);
  });

  test('docs/access.md says which tools of /mcp a token sees', async () => {
    const differences = await inParallel(callers, async (caller) => {
      const { tools } = JSON.parse((await sendMcp(caller.token)).text).result;
      const seen = tools.map(({ name }: { name: string }) => name);
      const should = TOOLS.filter(({ needs }) => fulfils(caller.held, needs)).map(({ tool }) => tool);
      return seen.join() === should.join() ? [] : [`${nameOf(caller)}: ${seen.join()}`];
    });
    expect(differences.flat()).toEqual([]);
  });

  test('docs/access.md says who may log out; this test runs last because it ends the token', async () => {
    const rows = ROUTES.filter(({ route }) => route === LOGOUT);
    const guest = await compare(rows, GUEST);
    const others = await inParallel(callers, (caller) => compare(rows, { ...caller, name: nameOf(caller) }));
    expect([guest, ...others].flat()).toEqual([]);
  });
};
