/** Uses the generated client as an app would, and prints the decoded values as one line of JSON. */
import { readFileSync } from 'node:fs';
import * as client from './client/index.js';
import {
  AuthApi,
  Configuration,
  type DeletionBlocked,
  PaymentsApi,
  PostPaymentsStorePurchasesRequestChannelEnum,
  PostsApi,
  ResponseError,
  type ValidationError,
} from './client/index.js';

/** The body of an expected error. */
const errorOf = async <Body>(status: number, answer: Promise<unknown>): Promise<Body> => {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    if (error.response.status !== status) throw new Error(`expected ${status}, got ${error.response.status}`);
    return (await error.response.json()) as Body;
  }
  throw new Error(`expected ${status}`);
};

interface Success {
  operationId: string;
  api: string;
  status: number;
  schema: string;
  body: unknown;
}

const withoutNulls = (value: unknown): string =>
  JSON.stringify(value, (_key, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(
          Object.entries(part)
            .filter(([, field]) => field !== null && field !== undefined)
            .sort(([one], [other]) => (one < other ? -1 : 1)),
        )
      : part,
  );

/** A value for any required parameter and for any of its fields: an empty list whose fields are all this same value. */
const parameters: object = new Proxy([], {
  get: (list, key) => {
    if (key === 'toISOString') return () => '2026-01-01';
    return typeof key === 'symbol' || key in list ? Reflect.get(list, key) : parameters;
  },
});

/** Calls each operation, decodes the documented response, encodes it again, and prints the differences. */
const decodeAll = async (file: string): Promise<void> => {
  const successes = JSON.parse(readFileSync(file, 'utf8')) as Success[];
  // The names of operations and schemas are data here.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  const generated = client as any;
  const problems: string[] = [];
  for (const { operationId, api, status, schema, body } of successes) {
    const fetchApi = async (): Promise<Response> => Response.json(body, { status });
    try {
      const configured = new generated[api](new Configuration({ basePath: '', fetchApi, accessToken: 'x' }));
      const decoded = await configured[operationId](parameters);
      const encoded = withoutNulls(generated[`${schema}ToJSON`](decoded));
      if (encoded !== withoutNulls(body)) problems.push(`${operationId} ${status}: ${encoded}`);
    } catch (error) {
      problems.push(`${operationId} ${status}: ${String(error)}`);
    }
  }
  console.log(JSON.stringify({ decoded: successes.length, problems }));
};

const use = async (basePath = '', login = '', password = '', purchaseToken = ''): Promise<void> => {
  let token = '';
  const configuration = new Configuration({ basePath, accessToken: () => token });
  const auth = new AuthApi(configuration);
  const payments = new PaymentsApi(configuration);

  const wrong = { postAuthLoginRequest: { login, password: 'not-the-password' } };
  const invalid = await errorOf<ValidationError>(
    422,
    new AuthApi(new Configuration({ basePath })).postAuthLogin(wrong),
  );
  const signedIn = await new AuthApi(new Configuration({ basePath })).postAuthLogin({
    postAuthLoginRequest: { login, password },
  });
  token = signedIn.token;
  const posts = await new PostsApi(configuration).getPosts({ perPage: 5 });
  const history = await payments.getPayments();
  const { data: grant } = await payments.postPaymentsStorePurchases({
    postPaymentsStorePurchasesRequest: {
      channel: PostPaymentsStorePurchasesRequestChannelEnum.Cafebazaar,
      productId: 'premium_plus',
      purchaseToken,
    },
  });
  const deletion = auth.postAuthDeleteAccount({
    postAuthDeleteAccountRequest: { currentPassword: password },
  });
  const blocked = await errorOf<DeletionBlocked>(409, deletion);

  console.log(
    JSON.stringify({
      userId: signedIn.user.id,
      posts: posts.data.map(({ id }) => id),
      payments: history.data.map(({ type, amount, meta }) => ({
        type,
        amount,
        chargedRial: meta?.chargedRial,
      })),
      grant: { userId: grant.userId, type: grant.type },
      blockers: blocked.blockers.map(({ code, balance }) => ({ code, balance })),
      invalid: Object.keys(invalid.errors),
    }),
  );
};

const [first, ...others] = process.argv.slice(2);
await (first === 'decode' ? decodeAll(others[0] ?? '') : use(first, ...others));
