/** Markdown as HTML: headings have the anchors of GitHub, tables fit a narrow page, and nothing has an inline style. */
import { breakable, type Html, html, renderedHtml } from '@fitness/shared/pages/html.ts';
import GithubSlugger from 'github-slugger';
import MarkdownIt, { type Token } from 'markdown-it';

interface Heading {
  /** `h1` to `h6` */
  tag: string;
  /** The anchor. */
  id: string;
  title: string;
  /** Index of its first token. */
  start: number;
}

export interface MarkdownDocument {
  tokens: Token[];
  headings: readonly Heading[];
}

const markdown = new MarkdownIt({ html: false });
const { rules } = markdown.renderer;
// On a narrow page, a cell is a grid of its label and one element.
rules.td_open = (tokens, index, options, _env, renderer) =>
  `${renderer.renderToken(tokens, index, options)}<div>`;
rules.td_close = () => '</div></td>\n';
rules.code_inline = (tokens, index) =>
  html`<code>${breakable(tokens[index]?.content ?? '')}</code>`.toString();
// Keyboard users can scroll only an element that has the focus.
rules.fence = rules.code_block = (tokens, index) =>
  html`<pre tabindex="0"><code>${tokens[index]?.content}</code></pre>\n`.toString();

/** The text of a heading, a paragraph or a block of code. */
export const textOf = ({ children, content }: Token): string =>
  children === null
    ? content
    : children
        .map(({ type, content: text }) =>
          type === 'text' || type === 'code_inline' ? text : type === 'softbreak' ? ' ' : '',
        )
        .join('');

/** Labels each cell with its column heading, which a narrow page shows beside the cell. */
const labelCells = (tokens: readonly Token[]): void => {
  let headings: string[] = [];
  let column = 0;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token.type === 'thead_open') headings = [];
    else if (token.type === 'th_open') headings.push(next === undefined ? '' : textOf(next));
    else if (token.type === 'tr_open') column = 0;
    else if (token.type === 'td_open') {
      token.attrSet('data-label', headings[column] ?? '');
      if (next?.content === '') token.attrSet('data-empty', '');
      column += 1;
    }
    // An aligned column has a style, which the content security policy refuses.
    token.attrs = token.attrs?.filter(([name]) => name !== 'style') ?? null;
  });
};

const addAnchors = (tokens: readonly Token[]): Heading[] => {
  const slugger = new GithubSlugger();
  return tokens.flatMap((token, start) => {
    const content = tokens[start + 1];
    if (token.type !== 'heading_open' || content === undefined) return [];
    const title = textOf(content);
    const id = slugger.slug(title);
    token.attrSet('id', id);
    return [{ tag: token.tag, id, title, start }];
  });
};

/** A line that is a comment is left out. Other HTML is shown as text. */
export const parseMarkdown = (source: string): MarkdownDocument => {
  const tokens = markdown.parse(source.replaceAll(/^<!--.*-->$/gm, ''), {});
  labelCells(tokens);
  return { tokens, headings: addAnchors(tokens) };
};

export const renderTokens = (tokens: Token[]): Html =>
  renderedHtml(markdown.renderer.render(tokens, markdown.options, {}));
