/** Building blocks for pages with forms. No page shows a submitted password again. */
import { parseTimestamp } from '../kernel/clock.ts';
import { type Message, message } from '../kernel/error.ts';
import { type Locale, type Translate, translator } from '../kernel/i18n/translate.ts';
import { alertOf, inputsOf as renderInputs } from './form.ts';
import type { Fields } from './form-pages.ts';
import { type Html, html, isolate } from './html.ts';
import { timeOf } from './time.ts';
import type { Problem } from './visitor.ts';

export interface View {
  locale: Locale;
  csrf: string;
  problem?: Problem | undefined;
}

export interface Field {
  name: string;
  label: Message;
  /** The message for an empty required field. */
  missing?: Message;
  autocomplete: string;
  type?: 'text' | 'password';
  value?: string | undefined;
  inputmode?: 'numeric';
  /** Whether the value is text in the language of the page, rather than a name or a code. */
  isText?: boolean;
  /** Whether the text may have several lines. */
  isLong?: boolean;
  /** Default: `name`. */
  apiName?: string;
  /** Set for the only field of a step. */
  isFocused?: boolean;
}

const apiNameOf = ({ name, apiName = name }: Field): string => apiName;

/** The inputs of a form. The first invalid input has the focus. */
export const inputsOf = (
  { locale, problem }: Pick<View, 'locale' | 'problem'>,
  fields: readonly Field[],
): Html =>
  renderInputs(
    fields.map((field) => ({
      ...field,
      label: translator(locale)(field.label),
      refused: problem?.fields[apiNameOf(field)],
    })),
  );

/** The problem with empty required fields, found without a call of the API. Undefined if all are filled in. */
export const missingIn = (locale: Locale, fields: readonly Field[], sent: Fields): Problem | undefined => {
  const t = translator(locale);
  const missing = fields.flatMap((field) => {
    const value = sent[field.name] ?? '';
    const isEmpty = (field.type === 'password' ? value : value.trim()) === '';
    return isEmpty && field.missing !== undefined ? [[apiNameOf(field), [t(field.missing)]]] : [];
  });
  if (missing.length === 0) return undefined;
  return { status: 422, text: undefined, fields: Object.fromEntries(missing) };
};

/** The input of a form with a single field. */
export const inputOf = (view: Pick<View, 'locale' | 'problem'>, field: Field): Html =>
  inputsOf(view, [field]);

export const PASSWORD: Field = {
  name: 'password',
  label: message('oauth.login.password'),
  missing: message('enter.password'),
  type: 'password',
  autocomplete: 'current-password',
};

export const CURRENT_PASSWORD: Field = { ...PASSWORD, apiName: 'current_password' };

export const TOTP: Field = {
  name: 'totp',
  label: message('oauth.login.code'),
  missing: message('auth.totp_required'),
  autocomplete: 'one-time-code',
};

export type Button = readonly [value: string, label: Message, rank?: 'secondary' | 'danger' | 'final'];
export const SIGN_OUT: Button = ['sign_out', message('account_deletion.sign_out'), 'secondary'];

/**
 * A form whose first button is its primary action, unless the button is `secondary`. A `danger` button leads to an irreversible action, and a
 * `final` button executes it. `cancel` is a link that stands beside the buttons.
 */
export const formOf = (
  { locale, csrf }: View,
  action: string,
  content: Html,
  buttons: readonly Button[],
  cancel?: Html,
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
)}${cancel}</div>
</div>
</form>`;
};

/** The alert for errors that belong to none of the `shown` inputs. */
export const problemOf = ({ problem }: Pick<View, 'problem'>, shown: readonly Field[]): Html | false => {
  const names = new Set(shown.map(apiNameOf));
  const refused = Object.entries(problem?.fields ?? {});
  const others = refused.filter(([name]) => !names.has(name)).flatMap(([, texts]) => texts);
  const texts = problem?.text === undefined ? others : [problem.text, ...others];
  const isFieldFocused = refused.some(([name]) => names.has(name));
  return texts.length > 0 && alertOf(texts.join(' '), !isFieldFocused);
};

export const signedInAs = (t: Translate, username: string): Html =>
  html`<p>${t(message('oauth.consent.account', { username: isolate(username) }))}</p>`;

/** Formats an API timestamp: `YYYY-MM-DD HH:MM:SS`, in UTC. */
export const time = ({ locale }: Pick<View, 'locale'>, timestamp: string): Html =>
  timeOf(locale, parseTimestamp(timestamp));
