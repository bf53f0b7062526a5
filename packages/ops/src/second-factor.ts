/**
 * The second factor of an operator. `/ops` shows nothing else until it is set up. It can also be replaced here, because its recovery codes
 * are shown only once.
 */
import { HTTP_STATUS, isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Fields, Outcome } from '@fitness/shared/pages/form-pages.ts';
import { CURRENT_PASSWORD, missingIn } from '@fitness/shared/pages/views.ts';
import type { SignedIn, Visits } from '@fitness/shared/pages/visit.ts';
import {
  type ApiCall,
  call,
  type PageContext,
  type Problem,
  problemIn,
  retryAfterIn,
} from '@fitness/shared/pages/visitor.ts';
import { call as declare } from './call.ts';
import { SECOND_FACTOR } from './frame.ts';
import { pathOf } from './operator.ts';
import {
  APP_CODE,
  armedPage,
  codePage,
  passwordPage,
  REPLACE_FIELDS,
  recoveryPage,
  type SetUpView,
} from './second-factor-pages.ts';

type SetUpContext = PageContext & { visits: Visits };
const turnOn = declare('POST /auth/second-factor', [], ['current_password', 'totp']);
const turnOff = declare('DELETE /auth/second-factor', [], ['current_password', 'totp']);

/** How the calls of this page are made. */
const asVisitor = (context: SetUpContext, visit: SignedIn) => ({
  api: (apiCall: ApiCall) => call(context, visit, apiCall),
});

type StepMessages = Pick<SetUpView, 'problem' | 'notice'>;

const viewOf = (
  { locale, visits }: SetUpContext,
  visit: SignedIn,
  messages: StepMessages = {},
): SetUpView => ({
  ...messages,
  locale,
  csrf: visits.csrfOf(visit),
});

const showPassword = (context: SetUpContext, visit: SignedIn, messages?: StepMessages): Outcome => ({
  page: passwordPage(viewOf(context, visit, messages)),
  visit,
});

const showCode = (
  context: SetUpContext,
  visit: SignedIn,
  { secret, url }: { secret: string; url: string },
  messages?: StepMessages,
): Outcome => {
  const sealed = context.visits.seal(visit, { secret, url });
  return { page: codePage({ ...viewOf(context, visit, messages), secret, url, sealed }), visit };
};

const showArmed = (context: SetUpContext, visit: SignedIn, problem?: Problem): Outcome => ({
  page: armedPage(viewOf(context, visit, { problem })),
  visit,
});

/** Redirects if another request has turned the second factor on, such as a second click or another window. */
const leadToArmed = (context: SetUpContext, visit: SignedIn): Outcome => ({
  location: pathOf(context, SECOND_FACTOR),
  visit,
});

const begin = async (
  context: SetUpContext,
  visit: SignedIn,
  password: string,
  notice?: Message,
): Promise<Outcome> => {
  const problem = missingIn(context.locale, [CURRENT_PASSWORD], { password });
  if (problem !== undefined) return showPassword(context, visit, { problem, notice });
  const body = { current_password: password };
  const answer = await turnOn.send(asVisitor(context, visit), { body });
  if (answer.status === 200) {
    const { secret, otpauth_url: url } = answer.body as { secret: string; otpauth_url: string };
    return showCode(context, visit, { secret, url }, { notice });
  }
  if (answer.status === 409) return leadToArmed(context, visit);
  const shown = showPassword(context, visit, { problem: problemIn(answer), notice });
  return { ...shown, retryAfter: retryAfterIn(answer) };
};

/** Begins the setup of a new second factor. Every response says that the old one is off. */
const beginAgain = async (context: SetUpContext, visit: SignedIn, password: string): Promise<Outcome> => {
  const notice = message('ops.second_factor.off');
  try {
    return await begin(context, visit, password, notice);
  } catch (error) {
    if (!isAppError(error) || error.kind === 'unauthenticated') throw error;
    const text = translator(context.locale)(error.publicMessage);
    const problem = { status: HTTP_STATUS[error.kind], text, fields: {} };
    return showPassword(context, visit, { problem, notice });
  }
};

const arm = async (
  context: SetUpContext,
  visit: SignedIn,
  { kept: sealed, totp = '' }: Fields,
): Promise<Outcome> => {
  const { secret, url } = context.visits.unseal(visit, sealed) ?? {};
  if (secret === undefined || url === undefined) return showPassword(context, visit);
  const missing = missingIn(context.locale, [APP_CODE], { totp });
  if (missing !== undefined) return showCode(context, visit, { secret, url }, { problem: missing });
  const answer = await turnOn.send(asVisitor(context, visit), { body: { totp } });
  if (answer.status === 409) return leadToArmed(context, visit);
  if (answer.status !== 200) {
    const shown = showCode(context, visit, { secret, url }, { problem: problemIn(answer) });
    return { ...shown, retryAfter: retryAfterIn(answer) };
  }
  const codes = (answer.body as { recovery_codes: string[] }).recovery_codes;
  return { page: recoveryPage(viewOf(context, visit), codes), visit };
};

/** Turns the second factor off with the password and a code, and begins again with a new secret. */
const replace = async (context: SetUpContext, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const { password = '', totp = '' } = fields;
  const problem = missingIn(context.locale, REPLACE_FIELDS, fields);
  if (problem !== undefined) return showArmed(context, visit, problem);
  const body = { current_password: password, totp };
  const answer = await turnOff.send(asVisitor(context, visit), { body });
  if (answer.status === 204) return beginAgain(context, visit, password);
  return { ...showArmed(context, visit, problemIn(answer)), retryAfter: retryAfterIn(answer) };
};

export const secondFactorSetUp = {
  show: (context: SetUpContext, visit: SignedIn): Outcome => showPassword(context, visit),
  showArmed,
  /** Begins the setup. A log-in passes its password on, so it is not entered again. */
  begin,

  /** Handles a form while the second factor is off. */
  act: (context: SetUpContext, visit: SignedIn, fields: Fields): Outcome | Promise<Outcome> => {
    const { action, password = '' } = fields;
    if (action === 'arm_second_factor') return arm(context, visit, fields);
    // At the second click of a replacement, the second factor is already off.
    if (action === 'replace_second_factor') return beginAgain(context, visit, password);
    if (action === 'begin_second_factor') return begin(context, visit, password);
    return showPassword(context, visit);
  },

  /** Handles a form while the second factor is on. Returns undefined for a form of another page. */
  actWhileOn: (
    context: SetUpContext,
    visit: SignedIn,
    fields: Fields,
  ): Outcome | Promise<Outcome> | undefined => {
    const { action } = fields;
    if (action === 'replace_second_factor') return replace(context, visit, fields);
    const isLate = action === 'begin_second_factor' || action === 'arm_second_factor';
    return isLate ? leadToArmed(context, visit) : undefined;
  },
};
