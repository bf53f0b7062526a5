/** The layout of the `/docs` pages other than the reference: the common layout, with links between the pages. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
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

/** Links to the other pages of the documentation, and to this page in other languages. */
export const docsLinks = (locale: Locale, path: string): Html => {
  const t = translator(locale);
  return html`<nav class="row">${PAGES.filter(([other]) => other !== path).map(
    ([other, title]) => html`<a href="${other}?lang=${locale}">${t(title)}</a>`,
  )}${languageLinks(locale, path)}</nav>`;
};

export interface Part {
  id: string;
  title: string;
}

/** Table of contents with one nested level. The titles are English or numbers. */
export const contents = (
  locale: Locale,
  path: string,
  parts: readonly (Part & { parts?: readonly Part[] })[],
): Html => {
  const title = translator(locale)(message('docs.contents'));
  const link = (part: Part): Html =>
    html`<a href="${path}?lang=${locale}#${part.id}">${breakable(part.title)}</a>`;
  const list = (all: typeof parts, isNested: boolean): Html =>
    html`<ul class="plain ${isNested ? 'stack' : 'row'}" role="list">${all.map(
      ({ parts: nested = [], ...part }) =>
        nested.length === 0
          ? html`<li>${link(part)}</li>\n`
          : html`<li class="row"><strong>${link(part)}</strong>${list(nested, false)}</li>\n`,
    )}</ul>`;
  const isNested = parts.some(({ parts: nested = [] }) => nested.length > 0);
  return html`<nav class="row" aria-label="${title}"><div lang="en" dir="ltr">${list(parts, isNested)}</div></nav>`;
};

/** Renders text in backticks as code. */
export const inline = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${breakable(part)}</code>` : part))}`;

export const docsPage = (locale: Locale, path: string, title: Message, body: Html): Page =>
  renderPage({
    locale,
    title: translator(locale)(title),
    aside: docsLinks(locale, path),
    body,
    width: 'wide',
  });
