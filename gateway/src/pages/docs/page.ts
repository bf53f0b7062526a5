/** The frame of the `/docs` pages other than the reference: the navigation and the search. They are in English only. */
import { DEFAULT_LOCALE } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';

export const SEARCH_PATH = '/docs/search';

export interface Part {
  /** The anchor in its page. */
  id: string;
  title: string;
}

/** A part of a page as the search finds it. Without an anchor it is the beginning of the page. */
export interface Section {
  id?: string;
  title: string;
  text: string;
}

/** A page without its frame. */
export interface DocsPage {
  path: string;
  title: string;
  body: Html;
  sections: readonly Section[];
}

type Link = Pick<DocsPage, 'path' | 'title'>;

export const linksTo = (pages: readonly Link[], current?: string): Html =>
  html`${pages.map(
    ({ path, title }) =>
      html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${title}</a></li>\n`,
  )}`;

/** `pages` are the links of the navigation, which is beside the page, or below it on a narrow screen. */
export const renderDocs = (page: Omit<DocsPage, 'sections'>, pages: readonly Link[], query = ''): Page =>
  renderPage({
    locale: DEFAULT_LOCALE,
    title: page.title,
    width: 'wide',
    aside: html`<form action="${SEARCH_PATH}" role="search">
<div class="stack">
<a class="narrow-only" href="#pages">All pages</a>
<input type="search" name="q" aria-label="Search the documentation" value="${query}" required>
<button>Search</button>
</div>
</form>`,
    body: html`<div class="docs">
<div class="stack">
${page.body}
</div>
<nav id="pages" aria-label="Documentation"><ul class="tabs">
${linksTo(pages, page.path)}</ul></nav>
</div>`,
  });

/** Table of contents with one nested level. */
export const contents = (parts: readonly (Part & { parts?: readonly Part[] })[]): Html => {
  const link = (part: Part): Html => html`<a href="#${part.id}">${breakable(part.title)}</a>`;
  const list = (all: typeof parts, isNested: boolean): Html =>
    html`<ul class="plain ${isNested ? 'stack' : 'row'}" role="list">${all.map(
      ({ parts: nested = [], ...part }) =>
        nested.length === 0
          ? html`<li>${link(part)}</li>\n`
          : html`<li class="row"><strong>${link(part)}</strong>${list(nested, false)}</li>\n`,
    )}</ul>`;
  const isNested = parts.some(({ parts: nested = [] }) => nested.length > 0);
  return html`<nav class="row" aria-label="Contents">${list(parts, isNested)}</nav>`;
};

/** Renders text in backticks as code. */
export const inline = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${breakable(part)}</code>` : part))}`;
