/** `/docs/errors`: every error with its messages, starting with the reader's language. */
import { message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import { ERROR_CATALOGUE, type ErrorRow, FIELD_MESSAGES, LANGUAGES } from '../../api/error-catalogue.ts';
import { contents, docsPage, inline } from './page.ts';

const textsOf = (texts: Readonly<Record<string, string>>, first: Locale): Html[] =>
  [first, ...LANGUAGES.filter((locale) => locale !== first)].map(
    (locale) =>
      html`<p lang="${locale}" dir="${translate(locale, 'language.direction')}">${texts[locale]}</p>`,
  );

export const errorsPage = (locale: Locale): Page => {
  const t = translator(locale);
  const codeOf = (code: string | null): Html =>
    code === null
      ? html`<span class="quiet">${t(message('docs.errors.no_code'))}</span>`
      : html`<code>${breakable(code)}</code>`;
  // Several errors may share a code, whose anchor leads to the first of them.
  const anchorOf = ({ status, code }: ErrorRow, index: number, all: readonly ErrorRow[]): Html | false =>
    code !== null && all.findIndex((other) => other.code === code) === index && html` id="${status}-${code}"`;
  const errorOf = (
    row: ErrorRow,
    index: number,
    all: readonly ErrorRow[],
  ): Html => html`<div class="stack tight"${anchorOf(row, index, all)}>
<h3 dir="ltr">${codeOf(row.code)}</h3>
${textsOf(row.texts, locale)}
<p><strong>${t(message('docs.errors.cause'))}:</strong> ${inline(row.causes[locale] ?? '')}</p>
<p><strong>${t(message('docs.errors.remedy'))}:</strong> ${inline(row.remedies[locale] ?? '')}</p>
${row.operations.length > 0 && html`<p dir="ltr" class="quiet">${breakable(row.operations.join(', '))}</p>`}
</div>`;
  const statuses = [...new Set(ERROR_CATALOGUE.map(({ status }) => status))];
  return docsPage(
    locale,
    '/docs/errors',
    message('docs.errors'),
    html`<p>${t(message('docs.errors.lead'))}</p>
${contents(
  locale,
  '/docs/errors',
  statuses.map((status) => ({ id: String(status), title: String(status) })),
)}
${statuses.map(
  (status) => html`<section class="card" id="${status}">
<h2>${status}</h2>
${ERROR_CATALOGUE.filter((row) => row.status === status).map(errorOf)}
</section>
`,
)}<section class="card" id="fields">
<h2>${t(message('docs.errors.fields'))}</h2>
<p>${t(message('docs.errors.fields.lead'))}</p>
${FIELD_MESSAGES.map((texts) => html`<div class="stack tight">${textsOf(texts, locale)}</div>`)}
</section>`,
  );
};
