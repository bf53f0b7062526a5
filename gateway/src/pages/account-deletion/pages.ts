/** The pages of `/account-deletion`: plain forms without scripts. No page repeats a password that was typed. */

import { BLOCKERS, type BlockerCode } from '@fitness/contracts/blockers.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, type Translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { alertOf } from '@fitness/shared/pages/form.ts';
import { type Html, html, withUnbrokenAmounts } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import type { App } from '../../dependencies.ts';
import type { ShownBlocker } from '../../request/deletion-blockers.ts';
import { DELETION_PATH } from '../../request/page-paths.ts';
import { type LoginView, loginForm } from '../log-in.ts';
import {
  CURRENT_PASSWORD,
  type Field,
  formOf,
  inputOf,
  inputsOf,
  problemOf,
  SIGN_OUT,
  signedInAs,
  time,
  type View,
} from '../views.ts';

const url = (locale: Locale, step?: 'code'): string =>
  `${DELETION_PATH}?lang=${locale}${step === undefined ? '' : `&step=${step}`}`;

type Buttons = Parameters<typeof formOf>[3];

const form = (view: View, content: Html, buttons: Buttons): Html =>
  formOf(view, url(view.locale), content, buttons);

const page = (
  locale: Locale,
  title: Message,
  body: Html,
  { status, path = DELETION_PATH }: { status?: number | undefined; path?: string } = {},
): Page =>
  renderPage({
    locale,
    status,
    title: translator(locale)(title),
    aside: languageLinks(locale, path),
    body,
  });

const about = (t: Translate, { name, developer, graceDays }: App): Html => {
  const steps = (['login', 'settle', 'confirm', 'wait'] as const).map(
    (step) => html`<li>${t(message(`account_deletion.step.${step}`, { count: graceDays }))}</li>\n`,
  );
  return html`<section class="card">
<p>${t(message('account_deletion.app', { app: name, developer }))}</p>
<details><summary>${t(message('account_deletion.steps'))}</summary>
<ol class="stack">${steps}</ol></details>
<details><summary>${t(message('account_deletion.data'))}</summary>
<div class="stack">
<p>${t(message('account_deletion.data.deleted'))}</p>
<p>${t(message('account_deletion.data.kept'))}</p>
<p>${t(message('account_deletion.data.kept_briefly'))}</p>
</div></details>
</section>`;
};

export const loginPage = (app: App, view: LoginView): Page => {
  const { locale, problem, status = problem?.status } = view;
  const t = translator(locale);
  return page(
    locale,
    message('account_deletion.title'),
    html`${about(t, app)}
<section class="card">
<h2>${t(message('oauth.login.submit'))}</h2>
${loginForm(view, url(locale))}
</section>`,
    { status },
  );
};

/** Digits of the code, which identity checks. */
const CODE_LENGTH = 6;

export const CODE: Field = {
  name: 'code',
  label: message('account_deletion.code.label'),
  missing: message('validation.sms_code', { length: CODE_LENGTH }),
  autocomplete: 'one-time-code',
  inputmode: 'numeric',
  apiName: 'confirmation_code',
};

export interface OverviewView extends View {
  username: string;
  /** Undefined when it is not known now. */
  blockers: readonly ShownBlocker[] | undefined;
}

const isBlockerCode = (code: string): code is BlockerCode => BLOCKERS.some((row) => row.code === code);

/** Undefined for a blocker that this release does not know. */
const settlementOf = ({ code, balance = 0 }: ShownBlocker): Message | undefined => {
  if (balance < 0) return message('account_deletion.settle.negative_balance');
  return isBlockerCode(code) ? message(`account_deletion.settle.${code}`) : undefined;
};

const blockerItem = (t: Translate, blocker: ShownBlocker): Html => {
  const settlement = settlementOf(blocker);
  return html`<li><strong>${withUnbrokenAmounts(blocker.message)}</strong>
${settlement !== undefined && html`<p>${t(settlement)}</p>`}</li>\n`;
};

/** What blocks, or the form that asks for the code. */
export const overviewPage = (view: OverviewView): Page => {
  const { locale, username, blockers, problem } = view;
  const t = translator(locale);
  const isBlocked = blockers !== undefined && blockers.length > 0;
  const known = blockers === undefined ? 'account_deletion.unchecked' : 'account_deletion.free';
  const body = isBlocked
    ? html`<h2>${t(message('account_deletion.blocked'))}</h2>
<ul class="items" role="list">${blockers.map((blocker) => blockerItem(t, blocker))}</ul>
<p><a href="${url(locale)}">${t(message('account_deletion.again'))}</a></p>
${form(view, html``, [SIGN_OUT])}`
    : html`<p class="notice">${t(message(known))}</p>
${problemOf(view, [CURRENT_PASSWORD])}
<p>${t(message('account_deletion.send.lead'))}</p>
${form(view, inputOf(view, CURRENT_PASSWORD), [
  ['send_code', message('account_deletion.send.submit')],
  SIGN_OUT,
])}
<p><a href="${url(locale, 'code')}">${t(message('account_deletion.have_code'))}</a></p>`;
  return page(
    locale,
    message('account_deletion.title'),
    html`<section class="card">${signedInAs(t, username)}
${body}
</section>`,
    { status: problem?.status },
  );
};

interface CodeView extends View {
  username: string;
  /** When an account is deleted whose deletion is confirmed now. */
  deletionAt: Date;
  /** The code that was refused: a digit of it is corrected faster than all are typed again. */
  code?: string | undefined;
}

/** What the last button does, right above it, and when. */
const consequences = ({ locale, deletionAt }: CodeView): Html => {
  const t = translator(locale);
  return html`<div class="notice bad stack">
<h2>${t(message('account_deletion.code.consequences'))}</h2>
<p><strong>${timeOf(locale, deletionAt)}</strong></p>
<ul>
<li>${t(message('account_deletion.code.until'))} ${t(message('account_deletion.code.after'))}</li>
<li>${t(message('account_deletion.code.effect'))}</li>
<li>${t(message('account_deletion.data.deleted'))}</li>
</ul>
</div>
`;
};

export const codePage = (view: CodeView): Page => {
  const { locale, username, problem, code } = view;
  const t = translator(locale);
  const fields = [{ ...CODE, value: code }, CURRENT_PASSWORD];
  return page(
    locale,
    message('account_deletion.code.title'),
    html`<section class="card">${signedInAs(t, username)}
<p>${t(message('account_deletion.code.lead'))}</p>
${problemOf(view, fields)}
${form(view, html`${inputsOf(view, fields)}${consequences(view)}`, [
  ['confirm', message('account_deletion.code.submit'), 'final'],
  ['keep', message('account_deletion.code.keep'), 'secondary'],
])}
<p><a href="${url(locale)}">${t(message('account_deletion.code.another'))}</a></p>
</section>`,
    { status: problem?.status },
  );
};

/** Timestamps as the API shows them: `YYYY-MM-DD HH:MM:SS`, UTC. */
export interface ShownSchedule {
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

const dates = (locale: Locale, schedule: ShownSchedule): Html => {
  const t = translator(locale);
  return html`<dl class="facts">
<dt>${t(message('account_deletion.scheduled_at'))}</dt><dd><strong>${time({ locale }, schedule.deletion_scheduled_at)}</strong></dd>
<dt>${t(message('account_deletion.requested_at'))}</dt><dd>${time({ locale }, schedule.deletion_requested_at)}</dd>
</dl>`;
};

/** Nobody is signed in any more. `path`: shows the page again. */
export const scheduledPage = (locale: Locale, path: string, schedule: ShownSchedule): Page => {
  const t = translator(locale);
  return page(
    locale,
    message('oauth.pending.title'),
    html`<section class="card">
${dates(locale, schedule)}
<p>${t(message('account_deletion.scheduled'))}</p>
<p><a href="${url(locale)}">${t(message('account_deletion.to_cancel'))}</a></p>
</section>`,
    { path },
  );
};

/** Signed in while the deletion is pending. */
export const pendingPage = (view: View & { username: string; schedule: ShownSchedule }): Page => {
  const { locale, username, schedule, problem } = view;
  const t = translator(locale);
  return page(
    locale,
    message('oauth.pending.title'),
    html`<section class="card">${signedInAs(t, username)}
${dates(locale, schedule)}
<p>${t(message('account_deletion.pending'))}</p>
${problemOf(view, [])}
${form(view, html``, [['cancel', message('account_deletion.cancel')], SIGN_OUT])}
</section>`,
    { status: problem?.status },
  );
};

/** Nobody is signed in any more, and no deletion is pending. `path`: shows the page again. */
export const keptPage = (locale: Locale, path: string, outcome: 'kept' | 'cancelled'): Page => {
  const t = translator(locale);
  return page(
    locale,
    message(`account_deletion.${outcome}`),
    html`<section class="card">
<p>${t(message('deletion.cancelled'))}</p>
<p>${t(message('account_deletion.signed_out'))}</p>
</section>`,
    { path },
  );
};

/** A request that cannot be continued. */
export const refusalPage = (locale: Locale, status: number, reason: Message): Page => {
  const t = translator(locale);
  return page(
    locale,
    message('account_deletion.title'),
    html`<section class="card">
${alertOf(t(reason))}
<p><a href="${url(locale)}">${t(message('account_deletion.reopen'))}</a></p>
</section>`,
    { status },
  );
};
