/** Signing in for an app, and saying what it may do: the two steps between its request and its code. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, DAY_MS, formatTimestamp } from '@fitness/shared/clock.ts';
import { isAppError, message } from '@fitness/shared/error.ts';
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import { isOauthScope, OAUTH_PATHS } from '@fitness/shared/oauth.ts';
import type { Permission } from '@fitness/shared/permissions.ts';
import type Provider from 'oidc-provider';
import type { InteractionResults } from 'oidc-provider';
import type { SignIn } from '../app/sign-in.ts';
import type { Transact } from '../app/transact.ts';
import { permissionsOf } from '../domain/roles.ts';
import { isPendingDeletion, type User } from '../domain/user.ts';
import type { OauthStore } from '../store/oauth.ts';
import type { RoleStore } from '../store/roles.ts';
import type { UserStore } from '../store/users.ts';
import { recordKey, toRecord } from './adapter.ts';
import { consentPage, type FormState, loginPage, type Page, pendingPage, problemPage } from './pages.ts';
import { GRANT_LIFETIME_MS } from './provider.ts';

export interface InteractionParts {
  signIn: SignIn;
  users: UserStore;
  roles: RoleStore;
  oauth: OauthStore;
  transact: Transact;
  clock: Clock;
  /** Signs what a form of ours carries. */
  csrfKey: string;
}

/** One look at, or answer of, a page. */
interface Visit {
  provider: Provider;
  raw: IncomingMessage;
  response: ServerResponse;
  /** The interaction that the path names; the cookie must name it too. */
  uid: string;
  locale: Locale;
  clientAddress: string;
}

export type Fields = Readonly<Record<string, string | undefined>>;

/** A page, or where the browser goes next. */
export type Outcome = { page: Page } | { location: string };

export interface Interactions {
  show(visit: Visit): Promise<Outcome>;
  answer(visit: Visit, fields: Fields): Promise<Outcome>;
}

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

interface Step {
  visit: Visit;
  details: Details;
  form: FormState;
}

/** A client outlives its last consent for a while, so that it need not register again to ask for the next. */
const KEPT_CLIENT_MS = GRANT_LIFETIME_MS + 30 * DAY_MS;
const MAX_LOGIN_LENGTH = 254;
const MAX_PASSWORD_LENGTH = 1_000;

/** The library keeps what a client has sent as it came. */
const textOf = (param: unknown): string => (typeof param === 'string' ? param : '');

const expired = (locale: Locale): Outcome => ({ page: problemPage(locale, 400) });

export const createInteractions = (parts: InteractionParts): Interactions => {
  const csrfOf = (uid: string): string => createHmac('sha256', parts.csrfKey).update(uid).digest('base64url');

  const open = async (visit: Visit): Promise<Step | undefined> => {
    const { provider, raw, response, uid, locale } = visit;
    const details = await provider.interactionDetails(raw, response).catch(undefinedIfLost);
    if (details === undefined || details.uid !== uid) return undefined;
    const client = await provider.Client.find(textOf(details.params.client_id));
    if (client === undefined) return undefined;
    const form = {
      locale,
      client: { name: client.clientName, redirectUri: textOf(details.params.redirect_uri) },
      action: `${OAUTH_PATHS.interaction}/${uid}`,
      csrf: csrfOf(uid),
    };
    return { visit, details, form };
  };

  return {
    show: async (visit) => {
      const step = await open(visit);
      if (step === undefined) return expired(visit.locale);
      return step.details.prompt.name === 'login' ? { page: loginPage(step.form) } : showConsent(parts, step);
    },

    answer: async (visit, fields) => {
      const step = await open(visit);
      if (step === undefined) return expired(visit.locale);
      if (!isSame(fields.csrf ?? '', step.form.csrf)) return { page: problemPage(visit.locale, 403) };
      if (fields.action === 'cancel') return finish(step, { error: 'access_denied' });
      const { name } = step.details.prompt;
      if (name === 'login' && fields.action === 'login') return logIn(parts, step, fields);
      if (name === 'consent' && fields.action === 'allow') return allow(parts, step);
      return expired(visit.locale);
    },
  };
};

/** The cookie names no interaction, one that is over, or one of somebody who has signed in since. */
const undefinedIfLost = (error: unknown): undefined => {
  if ((error as Error).name !== 'SessionNotFound') throw error;
};

const isSame = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));

const finish = async (
  { visit }: Step,
  result: InteractionResults,
  mergeWithLastSubmission = false,
): Promise<Outcome> => ({
  location: await visit.provider.interactionResult(visit.raw, visit.response, result, {
    mergeWithLastSubmission,
  }),
});

/** The same limit, answer and time as POST /auth/login. */
const logIn = async ({ signIn }: InteractionParts, step: Step, fields: Fields): Promise<Outcome> => {
  const { visit, form } = step;
  const { login = '', password = '' } = fields;
  const again = (status: number, text: ReturnType<typeof message>): Outcome => ({
    page: loginPage({ ...form, login, problem: { status, text } }),
  });
  if (login === '' || login.length > MAX_LOGIN_LENGTH) return again(422, message('auth.wrong_login'));
  if (password === '' || password.length > MAX_PASSWORD_LENGTH)
    return again(422, message('auth.wrong_login'));
  try {
    await signIn.takeLimit(login, visit.clientAddress);
    const user = await signIn.authenticate(login, password);
    if (user.deletion_scheduled_at !== null) {
      const scheduledAt = formatTimestamp(user.deletion_scheduled_at);
      return { page: pendingPage({ ...form, scheduledAt }) };
    }
    // The epoch says whether the password, and all else that he is let in by, is still what it was at the consent.
    const loggedIn = { accountId: String(user._id), remember: false, epoch: user.credential_epoch };
    return finish(step, { login: loggedIn });
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.kind === 'validation') return again(422, message('auth.wrong_login'));
    if (error.kind !== 'rate_limited') throw error;
    const refused = loginPage({ ...form, login, problem: { status: 429, text: error.text } });
    const headers = { ...error.headers, 'retry-after': String(error.retryAfterS ?? 1) };
    return { page: { ...refused, headers: { ...refused.headers, ...headers } } };
  }
};

/** Of what the client asks for: what the user may do himself. Undefined when he is not there, or about to leave. */
const findGrantable = async (
  { users, roles }: InteractionParts,
  { details }: Step,
): Promise<{ user: User; permissions: Permission[] } | undefined> => {
  const user = await users.findById(Number(details.session?.accountId));
  if (user === null || isPendingDeletion(user)) return undefined;
  const held = permissionsOf(await roles.findByIds(user.role_ids));
  const asked = textOf(details.params.scope).split(' ');
  return { user, permissions: asked.filter(isOauthScope).filter((permission) => held.has(permission)) };
};

const showConsent = async (parts: InteractionParts, step: Step): Promise<Outcome> => {
  const grantable = await findGrantable(parts, step);
  if (grantable === undefined) return expired(step.visit.locale);
  const { user, permissions } = grantable;
  if (permissions.length === 0) return finish(step, { error: 'invalid_scope' });
  return { page: consentPage({ ...step.form, username: user.username, permissions }) };
};

const allow = async (parts: InteractionParts, step: Step): Promise<Outcome> => {
  const { visit, details } = step;
  const epoch = details.lastSubmission?.login?.epoch;
  const grantable = await findGrantable(parts, step);
  if (grantable === undefined || typeof epoch !== 'number') return expired(visit.locale);
  const { permissions, user } = grantable;
  if (permissions.length === 0) return finish(step, { error: 'invalid_scope' });
  const grantId = await insertGrant(parts, step, user._id, permissions, epoch);
  // Answered already; or everything of the user was revoked since he signed in on these pages.
  return grantId === undefined ? expired(visit.locale) : finish(step, { consent: { grantId } }, true);
};

/** Not by the library's own save: the account must be as it was at the log-in, in the same transaction. */
const insertGrant = async (
  { oauth, transact, clock }: InteractionParts,
  { visit, details }: Step,
  userId: number,
  permissions: readonly Permission[],
  credentialEpoch: number,
): Promise<string | undefined> => {
  const clientId = textOf(details.params.client_id);
  const grant = new visit.provider.Grant({ accountId: String(userId), clientId });
  const { resource } = details.params;
  const asked = textOf(details.params.scope).split(' ');
  for (const indicator of Array.isArray(resource) ? resource : [resource]) {
    grant.addResourceScope(textOf(indicator), permissions.join(' '));
    const withheld = asked.filter((scope) => !permissions.includes(scope as Permission));
    if (withheld.length > 0) grant.rejectResourceScope(textOf(indicator), withheld.join(' '));
  }
  const { jti: grantId, payload } = await describe(grant);
  const now = clock.now();
  const record = toRecord('Grant', grantId, payload, new Date(now.getTime() + GRANT_LIFETIME_MS));
  const inserted = await transact(async (session) => {
    if (!(await oauth.consume(recordKey('Interaction', details.uid), now, session))) return false;
    if (!(await oauth.insertGrant(session, record, credentialEpoch))) return false;
    await oauth.keepClient(session, clientId, new Date(now.getTime() + KEPT_CLIENT_MS));
    return true;
  });
  return inserted ? grantId : undefined;
};

type Grant = InstanceType<Provider['Grant']>;
/** As the library would write it. */
const describe = async (grant: Grant): Promise<{ jti: string; payload: Parameters<typeof toRecord>[2] }> => {
  const model = grant as unknown as {
    jti: string;
    generateTokenId(): string;
    getValueAndPayload(): Promise<{ payload: Parameters<typeof toRecord>[2] }>;
  };
  model.jti = model.generateTokenId();
  return { jti: model.jti, payload: (await model.getValueAndPayload()).payload };
};
