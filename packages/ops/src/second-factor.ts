/**
 * The second factor of an operator. `/ops` shows nothing else until it is set up. It can also be replaced here, because its recovery codes
 * are shown only once.
 */
import { HTTP_STATUS, isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Fields, Outcome } from '@fitness/shared/pages/form-pages.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import { CURRENT_PASSWORD, missingIn } from '@fitness/shared/pages/views.ts';
import type { SignedIn, Visits } from '@fitness/shared/pages/visit.ts';
import {
  type ApiAnswer,
  type ApiCall,
  call,
  type PageContext,
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

/** What a page reports: a problem of its form, or the response of the API that refused it. */
interface Report extends Pick<SetUpView, 'problem' | 'notice'> {
  refused?: ApiAnswer;
}

const show = (
  { locale, visits }: SetUpContext,
  visit: SignedIn,
  page: (view: SetUpView) => Page,
  { refused, problem = refused && problemIn(refused), notice }: Report = {},
): Outcome => ({
  page: page({ locale, csrf: visits.csrfOf(visit), problem, notice }),
  visit,
  retryAfter: refused && retryAfterIn(refused),
});

const showCode = (
  context: SetUpContext,
  visit: SignedIn,
  { secret, url }: { secret: string; url: string },
  report?: Report,
): Outcome => {
  const sealed = context.visits.seal(visit, { secret, url });
  return show(context, visit, (view) => codePage({ ...view, secret, url, sealed }), report);
};

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
  if (problem !== undefined) return show(context, visit, passwordPage, { problem, notice });
  const body = { current_password: password };
  const answer = await turnOn.send(asVisitor(context, visit), { body });
  if (answer.status === 200) {
    const { secret, otpauth_url: url } = answer.body as { secret: string; otpauth_url: string };
    return showCode(context, visit, { secret, url }, { notice });
  }
  if (answer.status === 409) return leadToArmed(context, visit);
  return show(context, visit, passwordPage, { refused: answer, notice });
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
    return show(context, visit, passwordPage, { problem, notice });
  }
};

const arm = async (
  context: SetUpContext,
  visit: SignedIn,
  { kept: sealed, totp = '' }: Fields,
): Promise<Outcome> => {
  const { secret, url } = context.visits.unseal(visit, sealed) ?? {};
  if (secret === undefined || url === undefined) return show(context, visit, passwordPage);
  const missing = missingIn(context.locale, [APP_CODE], { totp });
  if (missing !== undefined) return showCode(context, visit, { secret, url }, { problem: missing });
  const answer = await turnOn.send(asVisitor(context, visit), { body: { totp } });
  if (answer.status === 409) return leadToArmed(context, visit);
  if (answer.status !== 200) return showCode(context, visit, { secret, url }, { refused: answer });
  const codes = (answer.body as { recovery_codes: string[] }).recovery_codes;
  return show(context, visit, (view) => recoveryPage(view, codes));
};

/** Turns the second factor off with the password and a code, and begins again with a new secret. */
const replace = async (context: SetUpContext, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const { password = '', totp = '' } = fields;
  const problem = missingIn(context.locale, REPLACE_FIELDS, fields);
  if (problem !== undefined) return show(context, visit, armedPage, { problem });
  const body = { current_password: password, totp };
  const answer = await turnOff.send(asVisitor(context, visit), { body });
  if (answer.status === 204) return beginAgain(context, visit, password);
  return show(context, visit, armedPage, { refused: answer });
};

export const secondFactorSetUp = {
  show: (context: SetUpContext, visit: SignedIn): Outcome => show(context, visit, passwordPage),
  showArmed: (context: SetUpContext, visit: SignedIn): Outcome => show(context, visit, armedPage),
  /** Begins the setup. A log-in passes its password on, so it is not entered again. */
  begin,

  /** Handles a form while the second factor is off. */
  act: (context: SetUpContext, visit: SignedIn, fields: Fields): Outcome | Promise<Outcome> => {
    const { action, password = '' } = fields;
    if (action === 'arm_second_factor') return arm(context, visit, fields);
    // At the second click of a replacement, the second factor is already off.
    if (action === 'replace_second_factor') return beginAgain(context, visit, password);
    if (action === 'begin_second_factor') return begin(context, visit, password);
    return show(context, visit, passwordPage);
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
