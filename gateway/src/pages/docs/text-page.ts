/** The `/docs` pages rendered from Markdown files of the repository. The text is English, and the frame uses the reader's language. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { DEFAULT_LOCALE, type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html, renderedHtml } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import GithubSlugger from 'github-slugger';
import MarkdownIt, { type Token } from 'markdown-it';
import { contents, docsPage, type Part } from './page.ts';

interface Text {
  path: string;
  title: Message;
  /** Path relative to the root of the repository. */
  file: string;
}

/** The product image must contain these files: see Dockerfile and .dockerignore. */
export const TEXTS: readonly Text[] = [
  { path: '/docs/limits', title: message('docs.limits'), file: 'docs/guides/apps/limits.md' },
  { path: '/docs/retries', title: message('docs.retries'), file: 'docs/guides/apps/retries.md' },
  { path: '/docs/changelog', title: message('docs.changelog'), file: 'CHANGELOG.md' },
];

const markdown = new MarkdownIt({ html: false });
// On a narrow page, a cell is a grid of its label and one element.
markdown.renderer.rules.td_open = (tokens, index, options, _env, renderer) =>
  `${renderer.renderToken(tokens, index, options)}<div>`;
markdown.renderer.rules.td_close = () => '</div></td>\n';
markdown.renderer.rules.code_inline = (tokens, index) =>
  html`<code>${breakable(tokens[index]?.content ?? '')}</code>`.toString();

/** Removes the brackets around changelog versions. They are for link definitions, and the file has none. */
const withoutBrackets = (source: string): string => source.replaceAll(/^## \[([^\]]+)\]/gm, '## $1');

/** The address of a link to this text or another one, with the language of the page. Null for any other link. */
const addressOf = (target: string, { file, path }: Text, locale: Locale): string | null => {
  const [linked = '', anchor] = target.split('#');
  const pagePath =
    linked === '' ? path : TEXTS.find((text) => text.file === posix.join(posix.dirname(file), linked))?.path;
  if (pagePath === undefined) return null;
  return `${pagePath}?lang=${locale}${anchor === undefined ? '' : `#${anchor}`}`;
};

/** Replaces links to other files with their text, because the repository is not part of the product. */
const withKnownLinks = (tokens: readonly Token[], text: Text, locale: Locale): Token[] => {
  let isKnown = true;
  return tokens.filter((token) => {
    if (token.type === 'link_open') {
      const address = addressOf(String(token.attrGet('href')), text, locale);
      isKnown = address !== null;
      token.attrSet('href', address ?? '');
    }
    return isKnown || !token.type.startsWith('link_');
  });
};

/** Labels each cell with its column heading, which a narrow page shows beside the cell. */
const labelCells = (tokens: readonly Token[]): void => {
  let headings: string[] = [];
  let column = 0;
  tokens.forEach((token, index) => {
    if (token.type === 'thead_open') headings = [];
    else if (token.type === 'th_open') headings.push((tokens[index + 1]?.content ?? '').replaceAll('`', ''));
    else if (token.type === 'tr_open') column = 0;
    else if (token.type === 'td_open') {
      token.attrSet('data-label', headings[column] ?? '');
      if (tokens[index + 1]?.content === '') token.attrSet('data-empty', '');
      column += 1;
    }
  });
};

interface Section extends Part {
  parts: readonly Part[];
  tokens: Token[];
}

/** Gives each heading the same anchor as on the documentation site. */
const headingsOf = (tokens: readonly Token[]): (Part & { level: string; start: number })[] => {
  const slugger = new GithubSlugger();
  return tokens.flatMap((token, start) => {
    if (token.type !== 'heading_open') return [];
    const title = tokens[start + 1]?.content ?? '';
    const id = slugger.slug(title);
    token.attrSet('id', id);
    return [{ id, title, level: token.tag, start }];
  });
};

const parse = (text: Text, locale: Locale): { lead: Token[]; sections: Section[] } => {
  const source = readFileSync(new URL(`../../../../${text.file}`, import.meta.url), 'utf8');
  const tokens = markdown.parse(withoutBrackets(source), {});
  labelCells(tokens);
  for (const token of tokens) {
    if (token.children) token.children = withKnownLinks(token.children, text, locale);
  }
  const headings = headingsOf(tokens);
  const starts = headings.filter(({ level }) => level === 'h2');
  const sections = starts.map(({ id, title, start }, index) => {
    const end = starts[index + 1]?.start ?? tokens.length;
    const parts = headings.filter((other) => other.start > start && other.start < end);
    return { id, title, parts, tokens: tokens.slice(start, end) };
  });
  // Skips the three tokens of the first heading, because the frame shows the title.
  return { lead: tokens.slice(3, starts[0]?.start), sections };
};

export const textPage = (locale: Locale, text: Text): Page => {
  const t = translator(locale);
  const { lead, sections } = parse(text, locale);
  const render = (tokens: Token[]): Html =>
    renderedHtml(markdown.renderer.render(tokens, markdown.options, {}));
  return docsPage(
    locale,
    text.path,
    text.title,
    html`${locale !== DEFAULT_LOCALE && html`<p class="notice">${t(message('docs.in_english'))}</p>`}
<div class="stack" lang="en" dir="ltr">
${render(lead)}
${contents(locale, text.path, sections)}
${sections.map(
  ({ tokens }) => html`<section class="card">
${render(tokens)}</section>
`,
)}</div>`,
  );
};
