/** `/docs/errors`: every error with its texts in each language. */
import { CATALOGUES } from '@fitness/shared/kernel/i18n/translate.ts';
import { ERROR_CATALOGUE, FIELD_MESSAGES, LANGUAGES } from '../api/error-catalogue.ts';
import { escapeHtml, page } from './page.ts';

const textCells = (texts: Readonly<Record<string, string>>): string =>
  LANGUAGES.map((locale) => {
    const direction = CATALOGUES.get(locale)?.['language.direction'] ?? 'ltr';
    return `<td lang="${locale}" dir="${direction}">${escapeHtml(texts[locale] ?? '')}</td>`;
  }).join('');

const table = (head: readonly string[], rows: readonly string[]): string => `      <table>
        <thead><tr>${[...head, ...LANGUAGES].map((title) => `<th>${escapeHtml(title)}</th>`).join('')}</tr></thead>
        <tbody>
${rows.map((cells) => `          <tr>${cells}</tr>`).join('\n')}
        </tbody>
      </table>`;

const codeCell = (code: string | null): string => (code === null ? '' : `<code>${escapeHtml(code)}</code>`);

export const errorsPage = (): string => {
  const errors = ERROR_CATALOGUE.map(
    ({ status, code, texts }) => `<td>${status}</td><td>${codeCell(code)}</td>${textCells(texts)}`,
  );
  return page(
    'Errors',
    `      <p>An error is <code>{message}</code>, on some routes <code>{error, code}</code>. A code stays the same in every
      language and release. Texts follow <code>Accept-Language</code>; parameters stand in braces.</p>
${table(['Status', 'Code'], errors)}
      <h2>Messages of fields</h2>
      <p>Under <code>errors</code> of a 422, by the name of the field.</p>
${table([], FIELD_MESSAGES.map(textCells))}`,
  );
};
