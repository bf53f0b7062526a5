/** `/docs/search`: the parts of the pages that contain every word of the query. */
import { html } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import { type DocsPage, renderDocs, SEARCH_PATH } from './page.ts';

const MAX_QUERY_LENGTH = 100;
const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 180;

interface Entry {
  href: string;
  title: string;
  text: string;
  /** The title in lower case, and all that is searched. */
  lowerTitle: string;
  lower: string;
}

const entriesOf = ({ path, title: page, sections }: DocsPage): Entry[] =>
  sections.map(({ id, title: heading, text }) => {
    const title = heading === page ? page : `${page}: ${heading}`;
    const lowerTitle = title.toLowerCase();
    return {
      href: id === undefined ? path : `${path}#${id}`,
      title,
      text,
      lowerTitle,
      lower: `${lowerTitle} ${text.toLowerCase()}`,
    };
  });

/** The text around the first of the words that it contains. */
const excerptOf = (text: string, words: readonly string[]): string => {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - EXCERPT_LENGTH / 3);
  const excerpt = text.slice(start, start + EXCERPT_LENGTH).trim();
  return `${start > 0 ? '…' : ''}${excerpt}${start + EXCERPT_LENGTH < text.length ? '…' : ''}`;
};

/** The page for a query. An empty query finds nothing. */
export const createSearch = (
  pages: readonly DocsPage[],
  links: readonly Pick<DocsPage, 'path' | 'title'>[],
) => {
  const entries = pages.flatMap(entriesOf);
  const find = (words: readonly string[]): Entry[] => {
    const hitsIn = ({ lowerTitle }: Entry): number =>
      words.filter((word) => lowerTitle.includes(word)).length;
    return entries
      .filter(({ lower }) => words.length > 0 && words.every((word) => lower.includes(word)))
      .toSorted((a, b) => hitsIn(b) - hitsIn(a));
  };
  return (text: string): Page => {
    const query = text.slice(0, MAX_QUERY_LENGTH).trim();
    const words = query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const found = find(words);
    const results = found.slice(0, MAX_RESULTS).map(
      (entry) => html`<li><a href="${entry.href}">${entry.title}</a>
<p class="quiet" dir="auto">${excerptOf(entry.text, words)}</p></li>
`,
    );
    const count =
      found.length === 0 ? 'Nothing' : `${found.length} ${found.length === 1 ? 'place' : 'places'}`;
    const body = html`<section class="card">
<p>${words.length === 0 ? 'Enter one or more words.' : `${count} found for “${query}”${found.length > MAX_RESULTS ? `, of which these are the first ${MAX_RESULTS}` : ''}.`}</p>
<ol class="items">
${results}</ol>
</section>`;
    return renderDocs({ path: SEARCH_PATH, title: 'Search', body }, links, query);
  };
};
