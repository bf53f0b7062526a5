/** Uses the generated client as an app would, and prints what it decoded as one line of JSON. */
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

const [basePath = '', login = '', password = '', purchaseToken = ''] = process.argv.slice(2);
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
const deletion = auth.postAuthDeleteAccount({ postAuthDeleteAccountRequest: { currentPassword: password } });
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
