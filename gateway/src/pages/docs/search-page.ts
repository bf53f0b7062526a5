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
  /** The heading in lower case, and all that is searched. */
  heading: string;
  all: string;
}

const entriesOf = ({ path, title: page, sections }: DocsPage): Entry[] =>
  sections.map(({ id, title: heading, text }) => {
    const title = heading === page ? page : `${page}: ${heading}`;
    return {
      href: id === undefined ? path : `${path}#${id}`,
      title,
      text,
      heading: heading.toLowerCase(),
      all: `${title} ${text}`.toLowerCase(),
    };
  });

/** The text around the first of the words that it contains, or its beginning. */
const excerptOf = (text: string, words: readonly string[]): string => {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const place = places.length === 0 ? 0 : Math.min(...places);
  const start = place < EXCERPT_LENGTH / 2 ? 0 : text.lastIndexOf(' ', place - EXCERPT_LENGTH / 3) + 1;
  const end = start + EXCERPT_LENGTH;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
};

const summaryOf = (count: number, query: string): string => {
  const all = count === 0 ? 'Nothing' : count === 1 ? '1 place' : `${count} places`;
  return `${all} found for “${query}”${count > MAX_RESULTS ? `; these are the first ${MAX_RESULTS}` : ''}.`;
};

/** The page for a query. An empty query finds nothing. */
export const createSearch = (
  pages: readonly DocsPage[],
  links: readonly Pick<DocsPage, 'path' | 'title'>[],
) => {
  const entries = pages.flatMap(entriesOf);
  const find = (words: readonly string[]): Entry[] => {
    const hitsIn = ({ heading }: Entry): number => words.filter((word) => heading.includes(word)).length;
    return entries
      .filter(({ all }) => words.length > 0 && words.every((word) => all.includes(word)))
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
    const body = html`<section class="card">
<p>${words.length === 0 ? 'Enter one or more words.' : summaryOf(found.length, query)}</p>
<ol class="items">
${results}</ol>
</section>`;
    return renderDocs({ path: SEARCH_PATH, title: 'Search', body }, links, query);
  };
};
