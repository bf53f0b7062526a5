/** The pages on which an operator sets up or replaces a second factor. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import {
  CURRENT_PASSWORD,
  type Field,
  formOf,
  inputOf,
  inputsOf,
  problemOf,
  SIGN_OUT,
  TOTP,
  type View,
} from '@fitness/shared/pages/views.ts';
import encodeQR from 'qr';
import { copyButton } from './content.ts';
import { LIVE_SCRIPT, SECOND_FACTOR } from './frame.ts';
import { OPS_PATH, pathOf } from './operator.ts';

/** White margin around the code, in modules. Readers do not find a code without one. */
const BORDER = 4;

/** A QR code that is black on white even in dark mode, because many readers reject inverted codes. */
const qrCode = (text: string, label: string): Html => {
  const rows = encodeQR(text, 'raw', { border: BORDER });
  const modules = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${rows.length} ${rows.length}" shape-rendering="crispEdges"><path d="${modules.join('')}"/></svg>`;
};

export interface SetUpView extends View {
  notice?: Message | undefined;
}

interface Step {
  title?: Message;
  /** The inputs of the step. Each one shows its own error. */
  fields?: readonly Field[];
  /** Address at which the step can be opened in another language. */
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

/** The first step after an unfinished setup or an expired secret. It requires the password again. */
export const passwordPage = (view: SetUpView): Page => {
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

export const APP_CODE: Field = {
  ...TOTP,
  label: message('ops.set_up.code'),
  missing: message('enter.app_code'),
  inputmode: 'numeric',
};

export const codePage = (view: SetUpView & { secret: string; url: string; sealed: string }): Page => {
  const { locale, secret, url, sealed } = view;
  const t = translator(locale);
  const content = html`<input type="hidden" name="kept" value="${sealed}">
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

export const recoveryPage = (view: View, codes: readonly string[]): Page => {
  const t = translator(view.locale);
  const text = codes.join('\n');
  return page(view, {
    title: message('ops.set_up.recovery'),
    body: html`<p class="notice good" role="status">${t(message('ops.set_up.done'))}</p>
<p>${t(message('ops.set_up.recovery.lead'))}</p>
<ul class="plain" role="list">${codes.map((code) => html`<li><span class="code" dir="ltr">${code}</span></li>\n`)}</ul>
<p class="row">${copyButton(t, text)}
<a class="button" download="recovery-codes.txt" href="data:text/plain;charset=utf-8,${encodeURIComponent(text)}">${t(message('ops.set_up.download'))}</a></p>
<p class="actions row"><a class="button" href="${pathOf(view, '')}">${t(message('ops.set_up.continue'))}</a></p>`,
  });
};

export const REPLACE_FIELDS = [CURRENT_PASSWORD, TOTP];

/** The page while the second factor is on. A double click on the last step also leads here, which loses the recovery codes. */
export const armedPage = (view: View): Page => {
  const t = translator(view.locale);
  const replaceFields = html`${inputsOf(view, REPLACE_FIELDS)}
<p class="notice bad">${t(message('ops.second_factor.replace.lead'))}</p>`;
  return page(view, {
    title: message('ops.second_factor'),
    fields: REPLACE_FIELDS,
    path: `${OPS_PATH}/${SECOND_FACTOR}`,
    body: html`<p>${t(message('ops.second_factor.on'))}</p>
<p>${t(message('ops.second_factor.codes'))}</p>
${formOf(view, pathOf(view, SECOND_FACTOR), replaceFields, [
  ['replace_second_factor', message('ops.second_factor.replace'), 'final'],
])}
<p><a href="${pathOf(view, '')}">${t(message('ops.second_factor.back'))}</a></p>`,
  });
};
