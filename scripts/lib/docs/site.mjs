/** Renders the repository's Markdown files as a static site. Each page keeps the path of its file. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { slug } from 'github-slugger';
import MarkdownIt from 'markdown-it';
import anchor from 'markdown-it-anchor';
import MiniSearch from 'minisearch';
import { GROUPS } from './contents.mjs';

const DECISIONS = 'docs/adr/README.md';
const IMAGE = /\.(?:png|svg|jpe?g|webp)$/;
const ADR = /^docs\/adr\/(\d+)-.*\.md$/;

/**
 * @typedef {import('markdown-it').Token} Token
 * @typedef {{ file: string, title: string, tokens: Token[], anchors: Set<string> }} Document
 * @typedef {{ files: readonly string[], read: (file: string) => Buffer }} Repository its files as relative paths
 */

const markdown = new MarkdownIt({ html: false }).use(anchor, { slugify: slug, tabIndex: false });
const inScrollable = { before: '<div class="scroll" tabindex="0">', after: '</div>' };
markdown.renderer.rules.table_open = () => `${inScrollable.before}<table>`;
markdown.renderer.rules.table_close = () => `</table>${inScrollable.after}`;
for (const rule of /** @type {const} */ (['fence', 'code_block'])) {
  const render = markdown.renderer.rules[rule];
  // Keyboard users can scroll only an element that has the focus.
  markdown.renderer.rules[rule] = (...args) =>
    String(render?.(...args)).replace('<pre>', '<pre tabindex="0">');
}
markdown.core.ruler.push('cells', ({ tokens }) => {
  tokens.forEach((token, index) => {
    if (token.type !== 'th_open' && token.type !== 'td_open') return;
    // An aligned column has a `style`, which the content security policy refuses.
    const alignment = token.attrGet('style');
    if (alignment !== null) token.attrs = [['class', String(alignment).replace('text-align:', '')]];
    const [content, end] = tokens.slice(index + 1);
    if (content?.content === '' && end) token.tag = end.tag = 'td'; // an empty header cell labels nothing
  });
});

const escapeHtml = markdown.utils.escapeHtml;

/** The address of a file's page, relative to the site. @param {string} file */
const addressOf = (file) => {
  if (file.endsWith('.md')) return file.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
  // A web server would serve other types, and names that begin with a dot, as downloads or not at all.
  return IMAGE.test(file) ? file : posix.join('files', `${file.replace(/(^|\/)\./g, '$1')}.txt`);
};

/** @param {Token} token */
const textOf = (token) =>
  (token.children ?? [])
    .map(({ type, content }) =>
      type === 'text' || type === 'code_inline' ? content : type === 'softbreak' ? ' ' : '',
    )
    .join('');

/**
 * @param {string} file
 * @param {string} text
 * @returns {Document}
 */
const parse = (file, text) => {
  const tokens = markdown.parse(text.replace(/^<!--.*-->$/gm, ''), {});
  const headings = tokens.flatMap((token, index) => (token.type === 'heading_open' ? [index] : []));
  const heading = tokens[(headings[0] ?? -1) + 1];
  return {
    file,
    title: headings.length > 0 && heading ? textOf(heading) : file,
    tokens,
    anchors: new Set(headings.map((index) => String(tokens[index]?.attrGet('id')))),
  };
};

/** The document's text, split at its headings. @param {Document} document */
const sectionsOf = ({ file, title, tokens }) => {
  const address = addressOf(file);
  const sections = [{ id: address, title, page: title, text: '' }];
  tokens.forEach((token, index) => {
    const section = sections.at(-1);
    if (token.type === 'heading_open') {
      const heading = tokens[index + 1];
      if (token.tag === 'h1' || !heading) return;
      sections.push({
        id: `${address}#${token.attrGet('id')}`,
        title: textOf(heading),
        page: title,
        text: '',
      });
    } else if (section && token.type === 'inline') section.text += ` ${textOf(token)}`;
    else if (section && token.type === 'fence') section.text += ` ${token.content}`;
  });
  return sections;
};

/**
 * Finds decisions that do not begin with a status and a rule, or that are missing from the list of decisions.
 * @param {readonly Document[]} documents
 * @param {string} list
 */
const problemsOfDecisions = (documents, list) => {
  const decisions = documents.filter(({ file }) => ADR.test(file));
  const numbers = decisions.map(({ file }) => ADR.exec(file)?.[1]);
  const lines = list.split('\n');
  return [
    ...numbers
      .filter((number, index) => numbers.indexOf(number) !== index)
      .map((number) => `two decisions have the number ${number}`),
    ...decisions.flatMap(({ file, title, tokens }) => {
      const [, status = '', rule = ''] = tokens
        .filter(({ type }) => type === 'inline')
        .map(({ content }) => content);
      const state = /^Status: (\w+)/.exec(status)?.[1];
      const line = `- [${title}](${posix.basename(file)}): ${state}`;
      return [
        ...(state && /^Rule: .+$/.test(rule) ? [] : [`${file}: does not begin with its status and its rule`]),
        ...(lines.filter((other) => other === line).length === 1 ? [] : [`${DECISIONS}: no line ${line}`]),
      ];
    }),
  ];
};

/** @param {readonly Document[]} documents */
const navigationOf = (documents) => {
  const places = documents
    .filter(({ file }) => !ADR.test(file))
    .map((document) => {
      const group = GROUPS.findIndex(({ patterns }) =>
        patterns.some((pattern) => pattern.test(document.file)),
      );
      const place = GROUPS[group]?.patterns.findIndex((pattern) => pattern.test(document.file)) ?? 0;
      return { document, group, place };
    });
  const groups = GROUPS.map(({ title }, group) => ({
    title,
    documents: places
      .filter((place) => place.group === group)
      .sort((a, b) => a.place - b.place)
      .map(({ document }) => document),
  }));
  return {
    groups,
    problems: places
      .filter(({ group }) => group === -1)
      .map(({ document }) => `${document.file}: no place in the navigation`),
  };
};

/**
 * Rewrites the links of a document to the addresses of the site.
 * @param {Document} document
 * @param {ReadonlyMap<string, Document>} documents
 * @param {ReadonlySet<string>} files
 */
const relink = (document, documents, files) => {
  /** @type {Set<string>} */
  const linked = new Set();
  /** @type {string[]} */
  const problems = [];
  const directory = posix.dirname(document.file);
  const here = posix.dirname(addressOf(document.file));
  /** @param {string} href */
  const resolve = (href) => {
    if (/^[a-z][a-z+.-]*:/i.test(href)) return href;
    const [path = '', fragment] = href.split('#').map(decodeURIComponent);
    const named =
      path === '' ? document.file : posix.normalize(posix.join(directory, path)).replace(/\/$/, '');
    const file = documents.has(`${named}/README.md`) ? `${named}/README.md` : named;
    const target = documents.get(file);
    if (!target && !files.has(file)) problems.push(`${document.file}: ${href}: no such file`);
    else if (fragment !== undefined && !target?.anchors.has(fragment))
      problems.push(`${document.file}: ${href}: no such heading`);
    if (!target) linked.add(file);
    const address = posix.relative(here, addressOf(file)) || posix.basename(addressOf(file));
    return fragment === undefined ? address : `${address}#${fragment}`;
  };
  for (const token of document.tokens.flatMap(({ children }) => children ?? [])) {
    const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined;
    const value = name && token.attrGet(name);
    if (name && value) token.attrSet(name, resolve(String(value)));
  }
  return { linked, problems };
};

/**
 * @param {Document} document
 * @param {ReturnType<typeof navigationOf>['groups']} groups
 */
const render = (document, groups) => {
  const address = addressOf(document.file);
  const root = posix.relative(posix.dirname(address), '') || '.';
  const list = groups
    .map(({ title, documents }) => {
      const items = documents
        .map((other) => {
          const current =
            other === document || (other.file === DECISIONS && ADR.test(document.file))
              ? ' aria-current="page"'
              : '';
          return `<li><a href="${root}/${addressOf(other.file)}"${current}>${escapeHtml(other.title)}</a></li>`;
        })
        .join('');
      return `<h2>${title}</h2><ul>${items}</ul>`;
    })
    .join('\n');
  return `<!doctype html>
<html lang="en" dir="ltr" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'">
<title>${escapeHtml(document.title)} – Fitness platform</title>
<link rel="icon" href="${root}/assets/icon.svg">
<link rel="stylesheet" href="${root}/assets/pages.css">
<link rel="stylesheet" href="${root}/assets/docs.css">
<script type="module" src="${root}/assets/search.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a href="${root}/index.html">Fitness platform</a>
<search hidden><label class="silent" for="search">Search</label><input id="search" type="search" placeholder="Search" autocomplete="off"><ol id="results" class="card" tabindex="-1" hidden></ol><p id="found" class="silent" role="status"></p></search>
</header>
<div class="columns">
<nav aria-label="Documents"><details open><summary>Documents</summary>
${list}
</details></nav>
<main id="content">
${markdown.renderer.render(document.tokens, markdown.options, {})}
</main>
</div>
</body>
</html>
`;
};

const FONT = '@fontsource-variable/vazirmatn/files/vazirmatn-arabic-wght-normal.woff2';
/** @param {string} url */
const asset = (url) => readFileSync(fileURLToPath(url));
const pageFile = (/** @type {string} */ name) =>
  asset(new URL(`../../../packages/shared/src/pages/${name}`, import.meta.url).href);

const assets = () =>
  new Map([
    ['assets/pages.css', pageFile('pages.css')],
    ['assets/icon.svg', pageFile('icon.svg')],
    ['assets/vazirmatn.woff2', asset(import.meta.resolve(FONT))],
    ['assets/docs.css', asset(new URL('../../../docs/site/docs.css', import.meta.url).href)],
    ['assets/search.js', asset(new URL('../../../docs/site/search.js', import.meta.url).href)],
    ['assets/minisearch.js', asset(import.meta.resolve('minisearch'))],
  ]);

/**
 * The site's files by address, and a message for each broken link and each document without a place in the navigation.
 * @param {Repository} repository
 * @returns {{ site: Map<string, string | Buffer>, problems: string[] }}
 */
export const buildSite = ({ files, read }) => {
  const sources = files
    .filter((file) => file.endsWith('.md'))
    .map((file) => parse(file, read(file).toString()));
  const documents = new Map(sources.map((document) => [document.file, document]));
  const navigation = navigationOf([...documents.values()]);
  const problems = [...problemsOfDecisions(sources, read(DECISIONS).toString()), ...navigation.problems];
  /** @type {Map<string, string | Buffer>} */
  const site = assets();
  const existing = new Set(files);
  const search = new MiniSearch({ fields: ['title', 'page', 'text'], storeFields: ['title', 'page'] });
  for (const document of documents.values()) {
    search.addAll(sectionsOf(document));
    const links = relink(document, documents, existing);
    problems.push(...links.problems);
    for (const file of links.linked) if (existing.has(file)) site.set(addressOf(file), read(file));
    site.set(addressOf(document.file), render(document, navigation.groups));
  }
  site.set('assets/search.json', JSON.stringify(search));
  return { site, problems };
};
