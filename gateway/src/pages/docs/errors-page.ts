/** `/docs/errors`: every error, with its messages in each language. */
import { translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
import { ERROR_CATALOGUE, type ErrorRow, FIELD_MESSAGES, LANGUAGES } from '../../api/error-catalogue.ts';
import { contents, type DocsPage, inline, type Section } from './page.ts';

type Texts = ErrorRow['texts'];

const textsOf = (texts: Texts): Html[] =>
  LANGUAGES.map(
    (locale) =>
      html`<p lang="${locale}" dir="${translate(locale, 'language.direction')}">${texts[locale]}</p>`,
  );

/** Several errors may share a code, whose anchor leads to the first of them. */
const anchorOf = ({ status, code }: ErrorRow): string => `${status}-${code}`;
const isFirst = (row: ErrorRow): boolean =>
  row.code !== null && ERROR_CATALOGUE.find((other) => other.code === row.code) === row;

const errorOf = (
  row: ErrorRow,
): Html => html`<div class="stack tight"${isFirst(row) && html` id="${anchorOf(row)}"`}>
<h3>${row.code === null ? html`<span class="quiet">no code</span>` : html`<code>${breakable(row.code)}</code>`}</h3>
${textsOf(row.texts)}
<p><strong>When:</strong> ${inline(row.cause)}</p>
<p><strong>What to do:</strong> ${inline(row.remedy)}</p>
${row.operations.length > 0 && html`<p class="quiet">${breakable(row.operations.join(', '))}</p>`}
</div>`;

const sectionOf = (row: ErrorRow): Section => ({
  id: isFirst(row) ? anchorOf(row) : String(row.status),
  title: `${row.status} ${row.code ?? 'no code'}`,
  text: [row.cause, row.remedy, ...Object.values(row.texts), ...row.operations].join(' '),
});

const FIELDS: Section = {
  id: 'fields',
  title: 'Field messages',
  text: FIELD_MESSAGES.flatMap((texts) => Object.values(texts)).join(' '),
};

const STATUSES = [...new Set(ERROR_CATALOGUE.map(({ status }) => String(status)))];

export const errorsPage = (): DocsPage => ({
  path: '/docs/errors',
  title: 'Errors',
  sections: [...ERROR_CATALOGUE.map(sectionOf), FIELDS],
  body: html`<p>Every error has a message. Some errors also have a code, which stays the same in every language and release. Texts follow
Accept-Language, and parameters are in braces.</p>
${contents(STATUSES.map((status) => ({ id: status, title: status })))}
${STATUSES.map(
  (status) => html`<section class="card" id="${status}">
<h2>${status}</h2>
${ERROR_CATALOGUE.filter((row) => String(row.status) === status).map(errorOf)}
</section>
`,
)}<section class="card" id="fields">
<h2>Field messages</h2>
<p>A 422 has these messages under “errors”, by field name.</p>
${FIELD_MESSAGES.map((texts) => html`<div class="stack tight">${textsOf(texts)}</div>`)}
</section>`,
});
