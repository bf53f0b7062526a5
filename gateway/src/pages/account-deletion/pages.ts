/** The pages of `/account-deletion`: plain forms without scripts. No page shows a submitted password again. */

import { isBlockerCode } from '@fitness/contracts/blockers.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, type Translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { alertOf } from '@fitness/shared/pages/form.ts';
import { type Html, html, withUnbrokenAmounts } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type LoginView, loginForm } from '@fitness/shared/pages/log-in.ts';
import { type Page, type PageOptions, renderPage } from '@fitness/shared/pages/page.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import {
  type Button,
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
} from '@fitness/shared/pages/views.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { ShownBlocker } from '../../request/deletion-blockers.ts';
import { DELETION_PATH } from '../../request/page-paths.ts';

/** The address of the pages. `parameters` begin with `&`. */
export const url = (locale: Locale, parameters = ''): string =>
  `${DELETION_PATH}?lang=${locale}${parameters}`;

const form = (view: View, content: Html, buttons: readonly Button[]): Html =>
  formOf(view, url(view.locale), content, buttons);

const page = (
  {
    locale,
    problem,
    status = problem?.status,
    path = DELETION_PATH,
  }: Pick<View, 'problem'> & Pick<PageOptions, 'locale' | 'status'> & { path?: string },
  title: Message,
  body: Html,
): Page =>
  renderPage({
    locale,
    status,
    title: translator(locale)(title),
    aside: languageLinks(locale, path),
    body,
  });

const about = (t: Translate, { name, developer, graceDays }: Dependencies['app']): Html => {
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

export const loginPage = (app: Dependencies['app'], view: LoginView): Page => {
  const { locale } = view;
  const t = translator(locale);
  return page(
    view,
    message('account_deletion.title'),
    html`${about(t, app)}
<section class="card">
<h2>${t(message('oauth.login.submit'))}</h2>
${loginForm(view, url(locale))}
</section>`,
  );
};

/** Number of digits in a code. Identity validates it. */
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
  /** Undefined if the blockers cannot be read right now. */
  blockers: readonly ShownBlocker[] | undefined;
}

/** How to resolve a blocker. Undefined for a blocker that this release does not know. */
const settlementOf = ({ code, balance = 0 }: ShownBlocker): Message | undefined => {
  if (balance < 0) return message('account_deletion.settle.negative_balance');
  return isBlockerCode(code) ? message(`account_deletion.settle.${code}`) : undefined;
};

const blockerItem = (t: Translate, blocker: ShownBlocker): Html => {
  const settlement = settlementOf(blocker);
  return html`<li><strong>${withUnbrokenAmounts(blocker.message)}</strong>
${settlement !== undefined && html`<p>${t(settlement)}</p>`}</li>\n`;
};

/** Shows what blocks the deletion, or the form that requests a code. */
export const overviewPage = (view: OverviewView): Page => {
  const { locale, username, blockers } = view;
  const t = translator(locale);
  const isBlocked = blockers !== undefined && blockers.length > 0;
  const notice = blockers === undefined ? 'account_deletion.unchecked' : 'account_deletion.free';
  const body = isBlocked
    ? html`<h2>${t(message('account_deletion.blocked'))}</h2>
<ul class="items" role="list">${blockers.map((blocker) => blockerItem(t, blocker))}</ul>
<p><a href="${url(locale)}">${t(message('account_deletion.again'))}</a></p>
${form(view, html``, [SIGN_OUT])}`
    : html`<p class="notice">${t(message(notice))}</p>
${problemOf(view, [CURRENT_PASSWORD])}
<p>${t(message('account_deletion.send.lead'))}</p>
${form(view, inputOf(view, CURRENT_PASSWORD), [
  ['send_code', message('account_deletion.send.submit')],
  SIGN_OUT,
])}
<p><a href="${url(locale, '&step=code')}">${t(message('account_deletion.have_code'))}</a></p>`;
  return page(
    view,
    message('account_deletion.title'),
    html`<section class="card">${signedInAs(t, username)}
${body}
</section>`,
  );
};

interface CodeView extends View {
  username: string;
  /** When the account is deleted if the deletion is confirmed now. */
  deletionAt: Date;
  /** The refused code, which the form keeps because correcting one digit is quicker than entering all six again. */
  code?: string | undefined;
}

/** Explains, right above the last button, what it does and when. */
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
  const { locale, username, code } = view;
  const t = translator(locale);
  const fields = [{ ...CODE, value: code }, CURRENT_PASSWORD];
  return page(
    view,
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
  );
};

/** API timestamps: `YYYY-MM-DD HH:MM:SS`, in UTC. */
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

/** The page after a scheduled deletion, which has ended the session. `path` is its address. */
export const scheduledPage = (locale: Locale, path: string, schedule: ShownSchedule): Page => {
  const t = translator(locale);
  return page(
    { locale, path },
    message('oauth.pending.title'),
    html`<section class="card">
${dates(locale, schedule)}
<p>${t(message('account_deletion.scheduled'))}</p>
<p><a href="${url(locale)}">${t(message('account_deletion.to_cancel'))}</a></p>
</section>`,
  );
};

/** The page for a signed-in user whose deletion is pending. */
export const pendingPage = (view: View & { username: string; schedule: ShownSchedule }): Page => {
  const { locale, username, schedule } = view;
  const t = translator(locale);
  return page(
    view,
    message('oauth.pending.title'),
    html`<section class="card">${signedInAs(t, username)}
${dates(locale, schedule)}
<p>${t(message('account_deletion.pending'))}</p>
${problemOf(view, [])}
${form(view, html``, [['cancel', message('account_deletion.cancel')], SIGN_OUT])}
</section>`,
  );
};

/** The page after a user has kept the account or cancelled the deletion, which ends the session. `path` is its address. */
export const keptPage = (locale: Locale, path: string, outcome: 'kept' | 'cancelled'): Page => {
  const t = translator(locale);
  return page(
    { locale, path },
    message(`account_deletion.${outcome}`),
    html`<section class="card">
<p>${t(message('deletion.cancelled'))}</p>
<p>${t(message('account_deletion.signed_out'))}</p>
</section>`,
  );
};

/** The page for a request that cannot be completed. */
export const refusalPage = (locale: Locale, status: number, reason: Message): Page => {
  const t = translator(locale);
  return page(
    { locale, status },
    message('account_deletion.title'),
    html`<section class="card">
${alertOf(t(reason))}
<p><a href="${url(locale)}">${t(message('account_deletion.reopen'))}</a></p>
</section>`,
  );
};
