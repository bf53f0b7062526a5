/** The pages from Markdown files of the repository: the guides for app developers, the changelog, and the runbook of the alerts. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { html } from '@fitness/shared/pages/html.ts';
import type { Token } from 'markdown-it';
import { type MarkdownDocument, parseMarkdown, renderTokens, textOf } from './markdown.ts';
import { contents, type DocsPage, type Part, type Section } from './page.ts';

interface Source {
  path: string;
  /** Path relative to the root of the repository. */
  file: string;
}

const ROOT = new URL('../../../../', import.meta.url);
/** Each Markdown file in this directory is a page. The image of the product contains it: see Dockerfile and .dockerignore. */
const GUIDES = 'docs/guides/apps';
/** The names of guides in the order of the navigation. Other guides follow. */
const ORDER: readonly string[] = [
  'integrate',
  'sample',
  'sign-in',
  'requests',
  'retries',
  'limits',
  'deletion',
  'money',
  'store-purchases',
  'media',
  'notifications',
  'oauth',
];

const placeOf = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

export const textSources = (): Source[] => {
  const names = readdirSync(new URL(GUIDES, ROOT))
    .filter((file) => file.endsWith('.md'))
    .map((file) => posix.basename(file, '.md'))
    .toSorted((a, b) => placeOf(a) - placeOf(b) || a.localeCompare(b));
  return [
    ...names.map((name) => ({ path: `/docs/${name}`, file: `${GUIDES}/${name}.md` })),
    { path: '/docs/changelog', file: 'CHANGELOG.md' },
    // The alerts link to its sections.
    { path: '/docs/alerts', file: 'docs/guides/operators/alerts.md' },
  ];
};

/** The address of a link in a file. Null if the product does not have its target, because the repository is not part of it. */
const addressOf = (target: string, file: string, sources: readonly Source[]): string | null => {
  if (/^https:|^#/.test(target)) return target;
  const [linked = '', anchor] = target.split('#');
  const source = sources.find((other) => other.file === posix.join(posix.dirname(file), linked));
  if (source === undefined) return null;
  return anchor === undefined ? source.path : `${source.path}#${anchor}`;
};

/** Replaces links to files that the product does not have with their text. */
const withKnownLinks = (tokens: readonly Token[], file: string, sources: readonly Source[]): Token[] => {
  let isKnown = true;
  return tokens.filter((token) => {
    if (token.type === 'link_open') {
      const address = addressOf(String(token.attrGet('href')), file, sources);
      isKnown = address !== null;
      token.attrSet('href', address ?? '');
    }
    return isKnown || !token.type.startsWith('link_');
  });
};

/** Removes the brackets around changelog versions. They are for link definitions, and the file has none. */
const withoutBrackets = (source: string): string => source.replaceAll(/^## \[([^\]]+)\]/gm, '## $1');

interface Chapter extends Part {
  parts: readonly Part[];
  tokens: Token[];
}

/** The parts of a document that begin with a heading of the second level. */
const chaptersOf = ({ tokens, headings }: MarkdownDocument): Chapter[] => {
  const starts = headings.filter(({ tag }) => tag === 'h2');
  return starts.map(({ id, title, start }, index) => {
    const end = starts[index + 1]?.start ?? tokens.length;
    const parts = headings.filter((other) => other.start > start && other.start < end);
    return { id, title, parts, tokens: tokens.slice(start, end) };
  });
};

const sectionsOf = ({ tokens, headings }: MarkdownDocument): Section[] =>
  headings.map(({ id, tag, title, start }, index) => {
    const own = tokens.slice(start + 3, headings[index + 1]?.start);
    const text = own.filter(({ type }) => /^(?:inline|fence|code_block)$/.test(type)).map(textOf);
    return { ...(tag === 'h1' ? {} : { id }), title, text: text.join(' ') };
  });

const textPage = ({ path, file }: Source, sources: readonly Source[]): DocsPage => {
  const document = parseMarkdown(withoutBrackets(readFileSync(new URL(file, ROOT), 'utf8')));
  for (const token of document.tokens) {
    if (token.children) token.children = withKnownLinks(token.children, file, sources);
  }
  const [heading] = document.headings;
  if (heading?.tag !== 'h1') throw new Error(`${file} does not begin with a title`);
  const chapters = chaptersOf(document);
  // Skips the three tokens of the title, which the frame shows.
  const lead = document.tokens.slice(
    heading.start + 3,
    document.headings.find(({ tag }) => tag === 'h2')?.start,
  );
  return {
    path,
    title: heading.title,
    sections: sectionsOf(document),
    body: html`${lead.length > 0 && html`<section class="card">\n${renderTokens(lead)}</section>`}
${chapters.length > 1 && contents(chapters)}
${chapters.map(
  ({ tokens }) => html`<section class="card">
${renderTokens(tokens)}</section>
`,
)}`,
  };
};

export const textPages = (): DocsPage[] => {
  const sources = textSources();
  return sources.map((source) => textPage(source, sources));
};
