/** The parts of pages with forms. No page repeats a password that was typed. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, type Translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import type { Problem } from './api.ts';

export interface View {
  locale: Locale;
  csrf: string;
  problem?: Problem | undefined;
}

export interface Field {
  name: string;
  label: Message;
  autocomplete: string;
  type?: 'text' | 'password';
  value?: string | undefined;
  inputmode?: 'numeric';
  /** In the language of the page, and not a name or a code. */
  isText?: boolean;
  /** The API's name for it. */
  apiName?: string;
}

export const inputOf = ({ locale, problem }: Pick<View, 'locale' | 'problem'>, field: Field): Html => {
  const { name, label, autocomplete, type = 'text', value, inputmode, isText, apiName = name } = field;
  const refused = problem?.fields[apiName] ?? [];
  const described = refused.length > 0 && html` aria-invalid="true" aria-describedby="${name}-problem"`;
  return html`<label>${translator(locale)(label)}
<input name="${name}" type="${type}" autocomplete="${autocomplete}" autocapitalize="none" dir="${isText === true ? 'auto' : 'ltr'}" maxlength="1000" value="${value}"${inputmode !== undefined && html` inputmode="${inputmode}"`}${described}></label>
${refused.length > 0 && html`<p class="problem" id="${name}-problem" role="alert">${refused.join(' ')}</p>`}`;
};

export const PASSWORD: Field = {
  name: 'password',
  label: message('oauth.login.password'),
  type: 'password',
  autocomplete: 'current-password',
};

export type Button = readonly [value: string, label: Message, rank?: 'secondary' | 'danger' | 'final'];
export const SIGN_OUT: Button = ['sign_out', message('account_deletion.sign_out'), 'secondary'];

/**
 * The first button is what the form is for, unless it is `secondary`. `danger` leads to something that cannot be taken back, and `final` does
 * it.
 */
export const formOf = (
  { locale, csrf }: View,
  action: string,
  content: Html,
  buttons: readonly Button[],
): Html => {
  const t = translator(locale);
  const [rankOfFirst] = buttons.map(([, , rank]) => rank);
  const row = rankOfFirst === undefined || rankOfFirst === 'final' ? 'actions row' : 'row';
  return html`<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<div class="stack">
${content}
<div class="${row}">
${buttons.map(
  ([value, label, rank]) =>
    html`<button name="action" value="${value}"${(rank === 'danger' || rank === 'final') && html` class="danger"`}>${t(label)}</button>\n`,
)}</div>
</div>
</form>`;
};

export const problemOf = ({ problem }: Pick<View, 'problem'>): Html | false =>
  problem?.text !== undefined && html`<p class="problem" role="alert">${problem.text}</p>`;

export const signedInAs = (t: Translate, username: string): Html =>
  html`<p>${t(message('oauth.consent.account', { username: isolate(username) }))}</p>`;

/** A timestamp of the API: `YYYY-MM-DD HH:MM:SS`, UTC. */
export const time = (timestamp: string): Html =>
  html`<time dir="ltr" datetime="${timestamp.replace(' ', 'T')}Z">${timestamp}</time>`;
