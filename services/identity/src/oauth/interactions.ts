/** The two steps between an authorization request and its code: the user signs in, then consents. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOauthScope, OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { type Clock, DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { machineText } from '@fitness/shared/kernel/refinements.ts';
import { inLanguage } from '@fitness/shared/pages/languages.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import type Provider from 'oidc-provider';
import type { InteractionResults } from 'oidc-provider';
import { type RecordDependencies, recordNewCredential } from '../app/credentials/record-new-credential.ts';
import type { SignIn } from '../app/sign-in/sign-in.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordKey } from '../domain/token.ts';
import { isPendingDeletion, type User } from '../domain/user.ts';
import type { Store } from '../store/store.ts';
import { toRecord } from './adapter.ts';
import { consentPage, type FormState, loginPage, pendingPage, problemPage } from './pages.ts';
import { endingSessionCookies, GRANT_LIFETIME_MS, isSessionNotFound } from './provider.ts';

export interface InteractionDependencies extends RecordDependencies {
  signIn: SignIn;
  store: Store;
  clock: Clock;
  sequences: Dependencies['sequences'];
  /** Key of the HMAC that protects the forms against cross-site request forgery. */
  csrfKey: string;
}

/** A request for a page, or a submitted form. */
interface InteractionRequest {
  provider: Provider;
  raw: IncomingMessage;
  response: ServerResponse;
  /** The interaction in the path. The cookie must name the same one. */
  uid: string;
  locale: Locale;
  clientAddress: string;
}

export type Fields = Readonly<Record<string, string | undefined>>;

/** A page, or a redirect, with the cookies that it sets. */
export type Outcome = { page: Page } | { location: string; cookies?: readonly string[] };

interface Interactions {
  show(request: InteractionRequest): Promise<Outcome>;
  answer(request: InteractionRequest, fields: Fields): Promise<Outcome>;
}

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

interface Step {
  request: InteractionRequest;
  details: Details;
  form: FormState;
}

/** Longer than a grant, so that a client can ask for consent again without registering again. */
const CLIENT_LIFETIME_MS = GRANT_LIFETIME_MS + 30 * DAY_MS;
const MAX_LOGIN_LENGTH = 254;
const MAX_PASSWORD_LENGTH = 1_000;
const MAX_TOTP_LENGTH = 100;

/** The library does not validate the types of parameters. */
const textOf = (param: unknown): string => (typeof param === 'string' ? param : '');

const pathOf = ({ uid, locale }: Pick<InteractionRequest, 'uid' | 'locale'>): string =>
  inLanguage(locale, `${OAUTH_PATHS.interaction}/${uid}`);

const refused = (request: InteractionRequest, status: number): Outcome => ({
  page: problemPage(request.locale, { status, path: pathOf(request) }),
});
const expired = (request: InteractionRequest): Outcome => refused(request, 400);

export const createInteractions = (dependencies: InteractionDependencies): Interactions => {
  const csrfOf = (uid: string): string =>
    createHmac('sha256', dependencies.csrfKey).update(uid).digest('base64url');

  const open = async (request: InteractionRequest): Promise<Step | undefined> => {
    const { provider, raw, response, uid, locale } = request;
    const details = await findDetails(provider, raw, response);
    if (details === undefined || details.uid !== uid) return undefined;
    // If another person has signed in with this browser since, the library would refuse the result after it was recorded.
    const sessionUid = details.session?.uid;
    if (sessionUid !== undefined && sessionUid !== (await sessionOf(request)).uid) return undefined;
    const client = await provider.Client.find(textOf(details.params.client_id));
    if (client === undefined) return undefined;
    const form = {
      locale,
      client: { name: client.clientName, redirectUri: textOf(details.params.redirect_uri) },
      action: pathOf(request),
      csrf: csrfOf(uid),
    };
    return { request, details, form };
  };

  return {
    show: async (request) => {
      const step = await open(request);
      if (step === undefined) return expired(request);
      if (step.details.prompt.name === 'login') return { page: loginPage(step.form) };
      return showConsent(dependencies, step);
    },

    answer: async (request, fields) => {
      const step = await open(request);
      if (step === undefined) return expired(request);
      if (!isSame(fields.csrf ?? '', step.form.csrf)) return refused(request, 403);
      if (fields.action === 'cancel') return finish(step, { error: 'access_denied' });
      const { name } = step.details.prompt;
      if (name === 'login' && fields.action === 'login') return submitLogin(dependencies, step, fields);
      if (name === 'consent' && fields.action === 'allow') return allow(dependencies, step);
      return expired(request);
    },
  };
};

/** Undefined when the cookie names no interaction, an ended one, or one whose session has changed since. */
const findDetails = async (
  provider: Provider,
  raw: IncomingMessage,
  response: ServerResponse,
): Promise<Details | undefined> => {
  try {
    return await provider.interactionDetails(raw, response);
  } catch (error) {
    if (await isSessionNotFound(error)) return undefined;
    throw error;
  }
};

/** The session that the browser's cookie names, or a new one. */
const sessionOf = ({ provider, raw, response }: InteractionRequest) =>
  provider.Session.get(provider.createContext(raw, response));

const isSame = (text: string, expected: string): boolean =>
  text.length === expected.length && timingSafeEqual(Buffer.from(text), Buffer.from(expected));

const finish = async (
  { request }: Step,
  result: InteractionResults,
  mergeWithLastSubmission = false,
): Promise<Outcome> => {
  const { provider, raw, response, locale } = request;
  const returnTo = await provider.interactionResult(raw, response, result, { mergeWithLastSubmission });
  // The next page is in the language of this one.
  return { location: inLanguage(locale, returnTo) };
};

/** The same rate limits, refusals and timing as POST /auth/login. */
const submitLogin = async (
  { signIn }: InteractionDependencies,
  step: Step,
  fields: Fields,
): Promise<Outcome> => {
  const { request, form } = step;
  const { password = '' } = fields;
  const [login, totp] = [machineText(fields.login ?? ''), machineText(fields.totp ?? '')];
  const refuse = (text: Message, field: 'login' | 'password' | 'totp'): Page => {
    const problem = { status: 422, text, field };
    return loginPage({ ...form, login, asksForCode: field === 'totp', problem });
  };
  const wrongLogin = message('auth.wrong_login');
  const isTooLong =
    login.length > MAX_LOGIN_LENGTH || password.length > MAX_PASSWORD_LENGTH || totp.length > MAX_TOTP_LENGTH;
  if (login === '') return { page: refuse(message('enter.login'), 'login') };
  if (password === '') return { page: refuse(message('enter.password'), 'password') };
  // At the password, which is typed anew: the login is still there.
  if (isTooLong) return { page: refuse(wrongLogin, 'password') };
  try {
    const client = { address: request.clientAddress, userAgent: request.raw.headers['user-agent'] };
    const match = await signIn.consumeLimit(login, client.address);
    const credentials = { login, password, totp: totp === '' ? undefined : totp, match, client };
    const user = await signIn.authenticate(credentials);
    // The epoch is compared at the consent, so that no grant is stored if the credentials were revoked in between.
    const loginResult = { accountId: String(user._id), remember: false, epoch: user.credential_epoch };
    const { accountId } = await sessionOf(request);
    // Another user's session in this browser would be mixed with the new one. The user's own is needed by other tabs.
    const isOther = accountId !== undefined && accountId !== loginResult.accountId;
    const cookies = isOther ? endingSessionCookies(request.provider.issuer) : [];
    return { ...(await finish(step, { login: loginResult })), cookies };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const [codeProblem] = error.fields?.totp ?? [];
    if (codeProblem !== undefined) return { page: refuse(codeProblem, 'totp') };
    if (error.kind === 'validation') return { page: refuse(wrongLogin, 'password') };
    if (error.kind !== 'rate_limited') throw error;
    const problem = { status: 429, text: error.publicMessage, field: undefined };
    const refused = loginPage({ ...form, login, asksForCode: totp !== '', problem });
    const headers = { ...error.headers, 'retry-after': String(error.retryAfterS ?? 1) };
    return { page: { ...refused, headers: { ...refused.headers, ...headers } } };
  }
};

/** The user and the requested permissions that they hold. Undefined without an account. */
const findGrantable = async (
  { store, usablePermissions }: InteractionDependencies,
  { details }: Step,
): Promise<{ user: User; permissions: Permission[] } | undefined> => {
  const user = await store.users.find(Number(details.session?.accountId));
  if (user === null) return undefined;
  const { usable } = await usablePermissions(user);
  const scopes = textOf(details.params.scope).split(' ');
  return { user, permissions: scopes.filter(isOauthScope).filter((permission) => usable.has(permission)) };
};

const showConsent = async (dependencies: InteractionDependencies, step: Step): Promise<Outcome> => {
  const grantable = await findGrantable(dependencies, step);
  if (grantable === undefined) return expired(step.request);
  const { user, permissions } = grantable;
  if (user.deletion_scheduled_at !== null) {
    const scheduledAt = formatTimestamp(user.deletion_scheduled_at);
    return { page: pendingPage({ ...step.form, scheduledAt }) };
  }
  if (permissions.length === 0) return finish(step, { error: 'invalid_scope' });
  return { page: consentPage({ ...step.form, username: user.username, permissions }) };
};

const allow = async (dependencies: InteractionDependencies, step: Step): Promise<Outcome> => {
  const { request, details } = step;
  const epoch = details.lastSubmission?.login?.epoch;
  const grantable = await findGrantable(dependencies, step);
  if (grantable === undefined || typeof epoch !== 'number') return expired(request);
  const { permissions, user } = grantable;
  if (isPendingDeletion(user)) return expired(request);
  if (permissions.length === 0) return finish(step, { error: 'invalid_scope' });
  const grantId = await insertGrant(dependencies, step, user, permissions, epoch);
  // Undefined when the form was submitted before, or the user's credentials were revoked since they signed in.
  return grantId === undefined ? expired(request) : finish(step, { consent: { grantId } }, true);
};

/** Replaces the library's `save`, because the credential epoch must be checked in the same transaction. */
const insertGrant = async (
  dependencies: InteractionDependencies,
  { request, details }: Step,
  user: User,
  permissions: readonly Permission[],
  credentialEpoch: number,
): Promise<string | undefined> => {
  const { store, clock, sequences } = dependencies;
  const clientId = textOf(details.params.client_id);
  const userId = user._id;
  const grant = new request.provider.Grant({ accountId: String(userId), clientId });
  const { resource } = details.params;
  const scopes = textOf(details.params.scope).split(' ');
  for (const indicator of Array.isArray(resource) ? resource : [resource]) {
    grant.addResourceScope(textOf(indicator), permissions.join(' '));
    const withheld = scopes.filter((scope) => !permissions.includes(scope as Permission));
    if (withheld.length > 0) grant.rejectResourceScope(textOf(indicator), withheld.join(' '));
  }
  const { jti: grantId, payload } = await serialize(grant);
  const now = clock.now();
  const record = {
    ...toRecord('Grant', grantId, payload, new Date(now.getTime() + GRANT_LIFETIME_MS)),
    grant_number: await sequences.next('oauth_grants'),
    last_used_at: now,
  };
  const inserted = await store.transaction(async (session) => {
    if (!(await store.oauth.consume(recordKey('Interaction', details.uid), now, session))) return false;
    if (!(await store.oauth.insertGrant(session, record, credentialEpoch))) return false;
    await recordNewCredential(dependencies, session, user, {
      change: 'app_connected',
      action: 'app.connect',
      values: { grant_id: record.grant_number, permissions },
    });
    await store.oauth.extendClientExpiry(session, clientId, new Date(now.getTime() + CLIENT_LIFETIME_MS));
    return true;
  });
  return inserted ? grantId : undefined;
};

type Grant = InstanceType<Provider['Grant']>;
type GrantPayload = Parameters<typeof toRecord>[2];

/** The payload that the library's `save` would write. */
const serialize = async (grant: Grant): Promise<{ jti: string; payload: GrantPayload }> => {
  const model = grant as unknown as {
    jti: string;
    generateTokenId(): string;
    getValueAndPayload(): Promise<{ payload: GrantPayload }>;
  };
  model.jti = model.generateTokenId();
  return { jti: model.jti, payload: (await model.getValueAndPayload()).payload };
};
