/**
 * An operator without a second factor sets one up here: `/ops` shows nothing else before. Afterwards they replace it here, because its
 * recovery codes are shown once.
 */
import { HTTP_STATUS, isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import encodeQR from 'qr';
import { OPS_PATH } from '../../request/page-paths.ts';
import { type Asking, call, type Problem, problemIn, retryAfterIn } from '../api.ts';
import type { Fields, Outcome } from '../form-pages.ts';
import {
  CURRENT_PASSWORD,
  type Field,
  formOf,
  inputOf,
  inputsOf,
  missingIn,
  problemOf,
  SIGN_OUT,
  TOTP,
  type View,
} from '../views.ts';
import type { SignedIn, Visits } from '../visit.ts';
import { LIVE_SCRIPT } from './pages.ts';
import { copyButton, pathOf, SECOND_FACTOR } from './section.ts';

type SetUpAsking = Asking & { visits: Visits };
const PATH = '/auth/second-factor';
/** Modules of white around the code, without which readers do not find it. */
const BORDER = 4;

/** Black on white in dark mode as well: many readers refuse the inverse. */
const qrCode = (text: string, label: string): Html => {
  const rows = encodeQR(text, 'raw', { border: BORDER });
  const modules = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${rows.length} ${rows.length}" shape-rendering="crispEdges"><path d="${modules.join('')}"/></svg>`;
};

interface SetUpView extends View {
  notice?: Message | undefined;
}

interface Step {
  title?: Message;
  /** The inputs of the step, which show what was refused of them. */
  fields?: readonly Field[];
  /** Its address, where it can be opened again in another language. */
  path?: string;
  body: Html;
}

const page = ({ locale, problem, notice }: SetUpView, step: Step): Page => {
  const t = translator(locale);
  const { title = message('ops.set_up.title'), fields = [], path, body } = step;
  return renderPage({
    locale,
    status: problem?.status,
    script: LIVE_SCRIPT,
    title: t(title),
    aside: path === undefined ? undefined : languageLinks(locale, path),
    body: html`<section class="card">
${notice !== undefined && html`<p class="notice waiting" role="status">${t(notice)}</p>`}
${problemOf({ problem }, fields)}
${body}
</section>`,
  });
};

/** After a log-in that was left before its end, and after ten minutes. */
const passwordPage = (view: SetUpView): Page => {
  const t = translator(view.locale);
  return page(view, {
    fields: [CURRENT_PASSWORD],
    path: OPS_PATH,
    body: html`<p>${t(message('ops.set_up.lead'))}</p>
${formOf(view, pathOf(view, ''), inputOf(view, CURRENT_PASSWORD), [
  ['begin_second_factor', message('ops.set_up.begin')],
  SIGN_OUT,
])}`,
  });
};

const APP_CODE: Field = {
  ...TOTP,
  label: message('ops.set_up.code'),
  missing: message('enter.app_code'),
  inputmode: 'numeric',
};

const codePage = (view: SetUpView & { secret: string; url: string; kept: string }): Page => {
  const { locale, secret, url, kept } = view;
  const t = translator(locale);
  const content = html`<input type="hidden" name="kept" value="${kept}">
${inputOf(view, APP_CODE)}`;
  return page(view, {
    fields: [APP_CODE],
    body: html`<p>${t(message('ops.set_up.lead'))}</p>
<p>${t(message('ops.set_up.scan'))}</p>
${qrCode(url, t(message('ops.set_up.qr')))}
<p>${t(message('ops.set_up.type'))}</p>
<p><span class="code" dir="ltr">${secret.replaceAll(/.{4}(?=.)/g, '$& ')}</span></p>
${formOf(view, pathOf(view, ''), content, [['arm_second_factor', message('ops.set_up.arm')], SIGN_OUT])}`,
  });
};

const recoveryPage = (view: View, codes: readonly string[]): Page => {
  const t = translator(view.locale);
  const text = codes.join('\n');
  return page(view, {
    body: html`<p class="notice" role="status">${t(message('ops.set_up.done'))}</p>
<h2>${t(message('ops.set_up.recovery'))}</h2>
<p>${t(message('ops.set_up.recovery.lead'))}</p>
<ul class="plain" role="list">${codes.map((code) => html`<li><span class="code" dir="ltr">${code}</span></li>\n`)}</ul>
<p class="row">${copyButton(t, text)}
<a class="button" download="recovery-codes.txt" href="data:text/plain;charset=utf-8,${encodeURIComponent(text)}">${t(message('ops.set_up.download'))}</a></p>
<p class="actions row"><a class="button" href="${pathOf(view, '')}">${t(message('ops.set_up.continue'))}</a></p>`,
  });
};

const REPLACE_FIELDS = [CURRENT_PASSWORD, TOTP];

/** After a double click on the last step too: its first answer, with the recovery codes, is lost then. */
const armedPage = (view: View): Page => {
  const t = translator(view.locale);
  return page(view, {
    title: message('ops.second_factor'),
    fields: REPLACE_FIELDS,
    path: `${OPS_PATH}/${SECOND_FACTOR}`,
    body: html`<p>${t(message('ops.second_factor.on'))}</p>
<p>${t(message('ops.second_factor.codes'))}</p>
${formOf(view, pathOf(view, SECOND_FACTOR), inputsOf(view, REPLACE_FIELDS), [
  ['replace_second_factor', message('ops.second_factor.replace')],
])}
<p><a href="${pathOf(view, '')}">${t(message('ops.second_factor.back'))}</a></p>`,
  });
};

/** What a step says besides its own texts. */
type Said = Pick<SetUpView, 'problem' | 'notice'>;

const viewOf = ({ locale, visits }: SetUpAsking, visit: SignedIn, said: Said = {}): SetUpView => ({
  ...said,
  locale,
  csrf: visits.csrfOf(visit),
});

const showPassword = (asking: SetUpAsking, visit: SignedIn, said?: Said): Outcome => ({
  page: passwordPage(viewOf(asking, visit, said)),
  visit,
});

const showCode = (
  asking: SetUpAsking,
  visit: SignedIn,
  { secret, url }: { secret: string; url: string },
  said?: Said,
): Outcome => {
  const kept = asking.visits.seal(visit, { secret, url });
  return { page: codePage({ ...viewOf(asking, visit, said), secret, url, kept }), visit };
};

const showArmed = (asking: SetUpAsking, visit: SignedIn, problem?: Problem): Outcome => ({
  page: armedPage(viewOf(asking, visit, { problem })),
  visit,
});

/** Another request has turned it on: a second click, or another window. */
const leadToArmed = (asking: SetUpAsking, visit: SignedIn): Outcome => ({
  location: pathOf(asking, SECOND_FACTOR),
  visit,
});

const begin = async (
  asking: SetUpAsking,
  visit: SignedIn,
  password: string,
  notice?: Message,
): Promise<Outcome> => {
  const problem = missingIn(asking.locale, [CURRENT_PASSWORD], { password });
  if (problem !== undefined) return showPassword(asking, visit, { problem, notice });
  const body = { current_password: password };
  const answer = await call(asking, visit, { method: 'POST', path: PATH, body });
  if (answer.status === 200) {
    const { secret, otpauth_url: url } = answer.body as { secret: string; otpauth_url: string };
    return showCode(asking, visit, { secret, url }, { notice });
  }
  if (answer.status === 409) return leadToArmed(asking, visit);
  const shown = showPassword(asking, visit, { problem: problemIn(answer), notice });
  return { ...shown, retryAfter: retryAfterIn(answer) };
};

/** The old one is off by now, which every answer about the new one says. */
const beginAgain = async (asking: SetUpAsking, visit: SignedIn, password: string): Promise<Outcome> => {
  const notice = message('ops.second_factor.off');
  try {
    return await begin(asking, visit, password, notice);
  } catch (error) {
    if (!isAppError(error) || error.kind === 'unauthenticated') throw error;
    const text = translator(asking.locale)(error.publicMessage);
    const problem = { status: HTTP_STATUS[error.kind], text, fields: {} };
    return showPassword(asking, visit, { problem, notice });
  }
};

const arm = async (asking: SetUpAsking, visit: SignedIn, { kept, totp = '' }: Fields): Promise<Outcome> => {
  const { secret, url } = asking.visits.unseal(visit, kept) ?? {};
  if (secret === undefined || url === undefined) return showPassword(asking, visit);
  const missing = missingIn(asking.locale, [APP_CODE], { totp });
  if (missing !== undefined) return showCode(asking, visit, { secret, url }, { problem: missing });
  const answer = await call(asking, visit, { method: 'POST', path: PATH, body: { totp } });
  if (answer.status === 409) return leadToArmed(asking, visit);
  if (answer.status !== 200) {
    const shown = showCode(asking, visit, { secret, url }, { problem: problemIn(answer) });
    return { ...shown, retryAfter: retryAfterIn(answer) };
  }
  const codes = (answer.body as { recovery_codes: string[] }).recovery_codes;
  return { page: recoveryPage(viewOf(asking, visit), codes), visit };
};

/** The API turns it off with the password and a code, and then begins with a new secret. */
const replace = async (asking: SetUpAsking, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const { password = '', totp = '' } = fields;
  const problem = missingIn(asking.locale, REPLACE_FIELDS, fields);
  if (problem !== undefined) return showArmed(asking, visit, problem);
  const body = { current_password: password, totp };
  const answer = await call(asking, visit, { method: 'DELETE', path: PATH, body });
  if (answer.status === 204) return beginAgain(asking, visit, password);
  return { ...showArmed(asking, visit, problemIn(answer)), retryAfter: retryAfterIn(answer) };
};

export const secondFactorSetUp = {
  show: (asking: SetUpAsking, visit: SignedIn): Outcome => showPassword(asking, visit),
  showArmed,
  /** With the password of the log-in, which is not typed again. */
  begin,

  /** While it is off. */
  act: (asking: SetUpAsking, visit: SignedIn, fields: Fields): Outcome | Promise<Outcome> => {
    const { action, password = '' } = fields;
    if (action === 'arm_second_factor') return arm(asking, visit, fields);
    // The second click of a replacement finds it off.
    if (action === 'replace_second_factor') return beginAgain(asking, visit, password);
    if (action === 'begin_second_factor') return begin(asking, visit, password);
    return showPassword(asking, visit);
  },

  /** While it is on. Undefined for a form of another page. */
  actWhileOn: (
    asking: SetUpAsking,
    visit: SignedIn,
    fields: Fields,
  ): Outcome | Promise<Outcome> | undefined => {
    const { action } = fields;
    if (action === 'replace_second_factor') return replace(asking, visit, fields);
    const isLate = action === 'begin_second_factor' || action === 'arm_second_factor';
    return isLate ? leadToArmed(asking, visit) : undefined;
  },
};
