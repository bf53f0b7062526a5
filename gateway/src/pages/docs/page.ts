/** The frame of the pages below `/docs` that are no reference: the frame of all pages, with links between them. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';

const PAGES: readonly [path: string, title: Message][] = [
  ['/docs', message('docs.reference')],
  ['/docs/events', message('docs.events')],
  ['/docs/errors', message('docs.errors')],
  ['/docs/limits', message('docs.limits')],
  ['/docs/retries', message('docs.retries')],
  ['/docs/changelog', message('docs.changelog')],
];

/** Links to the pages of the documentation, and to the other languages of this one. */
export const docsLinks = (locale: Locale, path: string): Html => {
  const t = translator(locale);
  return html`<nav class="row">${PAGES.filter(([other]) => other !== path).map(
    ([other, title]) => html`<a href="${other}?lang=${locale}">${t(title)}</a>`,
  )}${languageLinks(locale, path)}</nav>`;
};

/** Links to the parts of a page; their texts are English or numbers. */
export const contents = (
  locale: Locale,
  path: string,
  parts: readonly { id: string; title: string }[],
): Html => {
  const title = translator(locale)(message('docs.contents'));
  const links = parts.map((part) => html`<a href="${path}?lang=${locale}#${part.id}">${part.title}</a>`);
  return html`<nav class="row" aria-label="${title}"><div class="row" lang="en" dir="ltr">${links}</div></nav>`;
};

/** `code` in backticks, the rest as text. */
export const inline = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;

export const docsPage = (locale: Locale, path: string, title: Message, body: Html): Page =>
  renderPage({
    locale,
    title: translator(locale)(title),
    aside: docsLinks(locale, path),
    body,
    width: 'wide',
  });
