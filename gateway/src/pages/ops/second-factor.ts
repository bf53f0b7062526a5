/** An operator without a second factor sets one up here: `/ops` shows nothing else before. */
import { message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import encodeQR from 'qr';
import { type Asking, call, type Problem, problemIn, retryAfterIn } from '../api.ts';
import type { Fields, Outcome } from '../form-pages.ts';
import { type Field, formOf, inputOf, PASSWORD, problemOf, SIGN_OUT, type View } from '../views.ts';
import type { SignedIn, Visits } from '../visit.ts';
import { pathOf } from './section.ts';

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

/** `fields`: the inputs of the step, which show what was refused of them. */
const page = ({ locale, problem }: View, fields: readonly Field[], body: Html): Page =>
  renderPage({
    locale,
    status: problem?.status,
    title: translator(locale)(message('ops.set_up.title')),
    body: html`<section class="card">
${problemOf({ problem }, fields)}
${body}
</section>`,
  });

/** After a log-in that was left before its end, and after ten minutes. */
const passwordPage = (view: View): Page => {
  const t = translator(view.locale);
  const password = { ...PASSWORD, apiName: 'current_password' };
  return page(
    view,
    [password],
    html`<p>${t(message('ops.set_up.lead'))}</p>
${formOf(view, pathOf(view, ''), inputOf(view, password), [
  ['begin_second_factor', message('ops.set_up.begin')],
  SIGN_OUT,
])}`,
  );
};

const codePage = (view: View & { secret: string; url: string; kept: string }): Page => {
  const { locale, secret, url, kept } = view;
  const t = translator(locale);
  const code = {
    name: 'totp',
    label: message('ops.set_up.code'),
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
  } as const;
  const content = html`<input type="hidden" name="kept" value="${kept}">
${inputOf(view, code)}`;
  return page(
    view,
    [code],
    html`<p>${t(message('ops.set_up.lead'))}</p>
<p>${t(message('ops.set_up.scan'))}</p>
${qrCode(url, t(message('ops.set_up.qr')))}
<p>${t(message('ops.set_up.type'))}</p>
<p class="code" dir="ltr">${secret.replaceAll(/.{4}(?=.)/g, '$& ')}</p>
${formOf(view, pathOf(view, ''), content, [['arm_second_factor', message('ops.set_up.arm')], SIGN_OUT])}`,
  );
};

const recoveryPage = (view: View, codes: readonly string[]): Page => {
  const t = translator(view.locale);
  return page(
    view,
    [],
    html`<p class="notice" role="status">${t(message('ops.set_up.done'))}</p>
<h2>${t(message('ops.set_up.recovery'))}</h2>
<p>${t(message('ops.set_up.recovery.lead'))}</p>
<ul class="stack" role="list">${codes.map((code) => html`<li class="code" dir="ltr">${code}</li>\n`)}</ul>
<p><a class="button" href="${pathOf(view, '')}">${t(message('ops.set_up.continue'))}</a></p>`,
  );
};

const viewOf = ({ locale, visits }: SetUpAsking, visit: SignedIn, problem?: Problem): View => ({
  locale,
  csrf: visits.csrfOf(visit),
  problem,
});

const showPassword = (asking: SetUpAsking, visit: SignedIn, problem?: Problem): Outcome => ({
  page: passwordPage(viewOf(asking, visit, problem)),
  visit,
});

const showCode = (
  asking: SetUpAsking,
  visit: SignedIn,
  { secret, url }: { secret: string; url: string },
  problem?: Problem,
): Outcome => {
  const kept = asking.visits.seal(visit, { secret, url });
  return { page: codePage({ ...viewOf(asking, visit, problem), secret, url, kept }), visit };
};

const begin = async (asking: SetUpAsking, visit: SignedIn, password: string): Promise<Outcome> => {
  const body = { current_password: password };
  const answer = await call(asking, visit, { method: 'POST', path: PATH, body });
  if (answer.status === 200) {
    const { secret, otpauth_url: url } = answer.body as { secret: string; otpauth_url: string };
    return showCode(asking, visit, { secret, url });
  }
  return { ...showPassword(asking, visit, problemIn(answer)), retryAfter: retryAfterIn(answer) };
};

const arm = async (asking: SetUpAsking, visit: SignedIn, { kept, totp = '' }: Fields): Promise<Outcome> => {
  const { secret, url } = asking.visits.unseal(visit, kept) ?? {};
  if (secret === undefined || url === undefined) return showPassword(asking, visit);
  const answer = await call(asking, visit, { method: 'POST', path: PATH, body: { totp } });
  if (answer.status !== 200) {
    const shown = showCode(asking, visit, { secret, url }, problemIn(answer));
    return { ...shown, retryAfter: retryAfterIn(answer) };
  }
  const codes = (answer.body as { recovery_codes: string[] }).recovery_codes;
  return { page: recoveryPage(viewOf(asking, visit), codes), visit };
};

export const secondFactorSetUp = {
  show: showPassword,
  /** With the password of the log-in, which is not typed again. */
  begin,
  act: (asking: SetUpAsking, visit: SignedIn, fields: Fields): Outcome | Promise<Outcome> => {
    if (fields.action === 'begin_second_factor') return begin(asking, visit, fields.password ?? '');
    return fields.action === 'arm_second_factor' ? arm(asking, visit, fields) : showPassword(asking, visit);
  },
};
