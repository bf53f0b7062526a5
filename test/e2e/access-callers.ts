/** One caller for each kind of token and each permission, with an account and resources. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { isOauthScope, OAUTH_SCOPES } from '@fitness/contracts/oauth.ts';
import { createOauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { ROUTES, type TokenKind } from './access-table.ts';
import {
  type Account,
  administratorToken,
  api,
  baseUrl,
  eventually,
  expectStatus,
  PASSWORD,
  PNG,
  register,
} from './support.ts';

type Role = 'administrator' | 'member' | 'none';

export interface Plan {
  kind: TokenKind;
  /** Role of the token's user. */
  role: Role;
  /** Permissions of a restricted token, or scopes of an OAuth token. */
  permissions?: readonly string[];
  /** Set only if staff needs a second factor. Otherwise it does not matter. */
  secondFactor?: 'armed' | 'missing';
}

/** Ids of a caller's own resources. */
interface Resources {
  gym: number;
  inactiveGym: number;
  draft: number;
  inactiveService: number;
  trainerLicense: number;
  gymLicense: number;
  draftFile: number;
  serviceFile: number;
}

export interface TokenCaller extends Plan {
  account: Account;
  token: string;
  /** The token's effective permissions: those of its user that the token also grants. */
  held: ReadonlySet<string>;
  /** Further permissions that the token would have if its user had a second factor. */
  withheld: ReadonlySet<string>;
  resources: Resources;
}

/** Sets of several permissions that the table names. */
const COMBINATIONS = ROUTES.flatMap(({ needs }) => needs.filter((set) => set.length > 1));

const restrictedTo = (permissions: readonly string[]): Plan => ({
  kind: 'restricted',
  role: 'administrator',
  permissions,
});
const withScopes = (permissions: readonly string[]): Plan => ({
  kind: 'OAuth',
  role: 'administrator',
  permissions,
});

/** Each kind of token, with no permissions and with all. */
export const EACH_KIND: readonly Plan[] = [
  ...(['session', 'personal'] as const).flatMap((kind) =>
    (['administrator', 'member', 'none'] as const).map((role): Plan => ({ kind, role })),
  ),
  ...[[], PERMISSIONS].map(restrictedTo),
  withScopes(OAUTH_SCOPES),
];

/** Staff with and without a second factor. */
export const EACH_STAFF: readonly Plan[] = (['armed', 'missing'] as const).flatMap((secondFactor) =>
  [
    { kind: 'session', role: 'administrator' } as const,
    { kind: 'personal', role: 'administrator' } as const,
    restrictedTo(PERMISSIONS),
    withScopes(OAUTH_SCOPES),
  ].map((plan) => ({ ...plan, secondFactor })),
);

/** Each kind of token, with each single permission and each combination that the table names. */
export const EACH_PERMISSION: readonly Plan[] = [
  ...EACH_KIND,
  ...[...PERMISSIONS.map((one) => [one]), ...COMBINATIONS].map(restrictedTo),
  // Apps cannot get the other permissions.
  ...[...OAUTH_SCOPES.map((one) => [one]), ...COMBINATIONS.filter((set) => set.every(isOauthScope))].map(
    withScopes,
  ),
];

export const nameOf = ({ kind, role, permissions, secondFactor }: Plan): string => {
  const name = permissions === undefined ? `${kind} of ${role}` : `${kind} [${permissions.join(' ')}]`;
  return secondFactor === undefined ? name : `${name}, second factor ${secondFactor}`;
};

/** Few at a time, because each is a separate client, and the product verifies few passwords at a time. */
const CONCURRENCY = 4;

export const inParallel = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const results: Result[] = [];
  const waiting = items.entries();
  const run = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
  return results;
};

/** Repeats a request after a 503, which changed nothing. On a busy machine a service may respond late. */
export const untilServed = <A extends { status: number }>(request: () => Promise<A>): Promise<A> =>
  eventually(async () => {
    const answer = await request();
    return answer.status !== 503 && answer;
  });

/** Like `api`, but repeats a request until it is served. */
export const callApi: typeof api = (...call) => untilServed(() => api(...call));

export const createCallers = async (plans: readonly Plan[]): Promise<TokenCaller[]> => {
  const administrator = await administratorToken();
  const { data } = expectStatus(await callApi('GET', '/roles', { token: administrator }), 200).body;
  const roles = new Map<string, { id: number; permissions: string[] }>(
    data.map((role: { name: string; id: number; permissions: string[] }) => [role.name, role]),
  );
  const callers = await inParallel(byAccount(plans), async ([first, ...others]) => {
    const account = await register();
    const resources = await createResources(account);
    const role = roles.get(first.role);
    const body = { role_ids: role === undefined ? [] : [role.id] };
    expectStatus(await callApi('PUT', `/users/${account.id}`, { token: administrator, body }), 200);
    // Setting up a second factor ends all other credentials.
    const recoveryCodes = first.secondFactor === 'armed' ? await setUpSecondFactor(account) : [];
    const ofAccount: TokenCaller[] = [];
    for (const plan of [first, ...others]) {
      const all = plan.permissions ?? role?.permissions ?? [];
      const ofMembers = roles.get('member')?.permissions ?? [];
      const isWithheld = (permission: string): boolean =>
        plan.secondFactor === 'missing' && !ofMembers.includes(permission);
      ofAccount.push({
        ...plan,
        account,
        token: await createToken(account, plan, recoveryCodes.pop()),
        held: new Set(all.filter((permission) => !isWithheld(permission))),
        withheld: new Set(all.filter(isWithheld)),
        resources,
      });
    }
    return ofAccount;
  });
  return callers.flat();
};

/** Tokens per account. More would exceed the rate limit of an account for delete-account. */
const TOKENS_PER_ACCOUNT = 4;

const byAccount = (plans: readonly Plan[]): [Plan, ...Plan[]][] => {
  const accounts: [Plan, ...Plan[]][] = [];
  for (const plan of plans) {
    const last = accounts.at(-1);
    const shares =
      plan.permissions !== undefined &&
      last?.[0].permissions !== undefined &&
      plan.secondFactor === last[0].secondFactor;
    if (shares && last.length < TOKENS_PER_ACCOUNT) last.push(plan);
    else accounts.push([plan]);
  }
  return accounts;
};

const createToken = async (
  account: Account,
  { kind, permissions }: Plan,
  recoveryCode: string | undefined,
): Promise<string> => {
  if (kind === 'session') return account.token;
  if (kind === 'OAuth') {
    const credentials = {
      login: account.username,
      password: PASSWORD,
      ...(recoveryCode === undefined ? {} : { totp: recoveryCode }),
    };
    const scopes = permissions ?? [];
    const { accessToken, scope } = await createOauthClient(baseUrl()).connect(credentials, {
      scope: scopes.join(' '),
    });
    const granted = new Set(scope.split(' '));
    if (!scopes.every((one) => granted.has(one))) throw new Error(`granted ${scope} only`);
    return accessToken;
  }
  const body = { name: kind, ...(permissions === undefined ? {} : { permissions }) };
  return expectStatus(await callApi('POST', '/auth/tokens', { token: account.token, body }), 201).body.token;
};

/** Sets up a second factor and returns the recovery codes. */
const setUpSecondFactor = async ({ token }: Account): Promise<string[]> => {
  const send = async (body: unknown) =>
    expectStatus(await callApi('POST', '/auth/second-factor', { token, body }), 200).body;
  const { secret } = await send({ current_password: PASSWORD });
  return (await send({ totp: totpOf(secret, new Date()) })).recovery_codes;
};

const createResources = async ({ id, token }: Account): Promise<Resources> => {
  const create = async (path: string, body: unknown) =>
    expectStatus(await callApi('POST', path, { token, body }), 201).body;
  const upload = async (attachable_type: string, attachableId: number, purpose?: string): Promise<number> => {
    const form = new FormData();
    form.set('attachable_type', attachable_type);
    form.set('attachable_id', String(attachableId));
    if (purpose !== undefined) form.set('purpose', purpose);
    form.set('file', new Blob([PNG]), 'file.png');
    const headers = { authorization: `Bearer ${token}` };
    const response = await untilServed(() =>
      fetch(`${baseUrl()}/api/v1/media`, { method: 'POST', headers, body: form }),
    );
    if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { data: { id: number } }).data.id;
  };
  const place = { name: 'Iron', address: 'Tehran', location_lat: 35.7, location_lng: 51.4 };
  const gym = (await create('/gyms', place)).gym.id;
  const inactiveGym = (await create('/gyms', { ...place, is_active: false })).gym.id;
  const post = { profile_type: MODEL.user, profile_id: id, title: 'Plan', content: 'Soon', is_draft: true };
  const draft = (await create('/posts', post)).data.id;
  const service = { title: 'Plan', description: 'Weeks', price: 90_000, duration_days: 42, is_active: false };
  const inactiveService = (await create('/training-services', service)).data.id;
  return {
    gym,
    inactiveGym,
    draft,
    inactiveService,
    trainerLicense: await upload(MODEL.user, id, 'trainer_license'),
    gymLicense: await upload(MODEL.gym, gym, 'gym_license'),
    draftFile: await upload(MODEL.post, draft),
    serviceFile: await upload(MODEL.trainingService, inactiveService),
  };
};
