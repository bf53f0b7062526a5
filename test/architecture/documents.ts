/** Finds broken links between the Markdown files of the repository, and decisions without a status, a rule or a topic. */
import { posix } from 'node:path';
import { parseMarkdown, textOf } from '../../gateway/src/pages/docs/markdown.ts';

interface Repository {
  /** Paths relative to the root. */
  files: readonly string[];
  read(file: string): string;
}

interface Document extends ReturnType<typeof parseMarkdown> {
  file: string;
}

const DECISIONS = 'docs/adr/README.md';
const DECISION = /^docs\/adr\/(\d+)-.*\.md$/;
const OTHER_SITE = /^[a-z][a-z+.-]*:/i;

const linksOf = ({ tokens }: Document): string[] =>
  tokens
    .flatMap(({ children }) => children ?? [])
    .map((token) => token.attrGet(token.type === 'image' ? 'src' : 'href'))
    .filter((target) => target !== null)
    .map(String);

const problemsOfLinks = (documents: readonly Document[], files: readonly string[]): string[] => {
  const existing = new Set(files);
  const byFile = new Map(documents.map((document) => [document.file, document]));
  return documents.flatMap((document) =>
    linksOf(document)
      .filter((link) => !OTHER_SITE.test(link))
      .flatMap((link) => {
        const [path = '', anchor] = link.split('#').map(decodeURIComponent);
        const named = posix.join(posix.dirname(document.file), path).replace(/\/$/, '');
        const file =
          path === '' ? document.file : byFile.has(`${named}/README.md`) ? `${named}/README.md` : named;
        if (!existing.has(file)) return [`${document.file}: ${link}: no such file`];
        const isMissing = anchor !== undefined && !byFile.get(file)?.headings.some(({ id }) => id === anchor);
        return isMissing ? [`${document.file}: ${link}: no such heading`] : [];
      }),
  );
};

const problemsOfDecisions = (documents: readonly Document[], list: string): string[] => {
  const decisions = documents.filter(({ file }) => DECISION.test(file));
  const numbers = decisions.map(({ file }) => DECISION.exec(file)?.[1]);
  const lines = list.split('\n');
  return [
    ...numbers
      .filter((number, index) => numbers.indexOf(number) !== index)
      .map((number) => `two decisions have the number ${number}`),
    ...decisions.flatMap(({ file, headings, tokens }) => {
      const [, status = '', rule = ''] = tokens.filter(({ type }) => type === 'inline').map(textOf);
      const state = /^Status: (\w+)/.exec(status)?.[1];
      const line = `- [${headings[0]?.title}](${posix.basename(file)}): ${state}`;
      return [
        ...(state && /^Rule: .+$/.test(rule) ? [] : [`${file}: does not begin with its status and its rule`]),
        ...(lines.filter((other) => other === line).length === 1 ? [] : [`${DECISIONS}: no line ${line}`]),
      ];
    }),
  ];
};

export const problemsOfDocuments = ({ files, read }: Repository): string[] => {
  const documents = files
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({ file, ...parseMarkdown(read(file)) }));
  return [...problemsOfLinks(documents, files), ...problemsOfDecisions(documents, read(DECISIONS))];
};
