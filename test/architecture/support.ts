/** Shared by the architecture tests: the repository's files, and the syntax trees of its sources. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Module, parseSync } from '@swc/core';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'] as const;

/** Every file that is tracked, or untracked but not ignored. Paths are relative to the root. */
export const files: readonly string[] = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)))
  .sort();

export const exists = (file: string): boolean => existsSync(join(root, file));
export const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const CODE = /^(?:packages|proto|services|gateway|sandbox|bench|test)\/.*\.ts$/;
/** TypeScript sources, except generated ones. */
export const sources = files.filter((file) => CODE.test(file) && !file.startsWith('proto/gen/'));

/** Whether a file runs only in tests. */
export const isTestCode = (file: string): boolean =>
  /\.test\.ts$|(?:^|\/)test\/|\/src\/testing\/|\/testing\.ts$/.test(file);

export const productSources = sources.filter((file) => !isTestCode(file));

export interface Node {
  type: string;
  [field: string]: unknown;
}

export interface Tree {
  file: string;
  text: string;
  body: Module;
  /** All nodes, parents first. */
  nodes: readonly Node[];
  /** The first and last line of `node`, counted from 1. */
  linesOf(node: Node): [number, number];
}

/** The parser counts bytes across files. This leading empty statement gives the offset of the current file. */
const MARK = ';';

export const parse = (file: string): Tree => {
  const text = read(file).replace(/^#!/, '//');
  const body = parseSync(MARK + text, { syntax: 'typescript', target: 'es2024', comments: false });
  const base = (body.body[0]?.span.start ?? 0) + MARK.length;
  let lineAt: ((position: number) => number) | undefined;
  const nodes: Node[] = [];
  walk(body, (node) => nodes.push(node));
  return {
    file,
    text,
    body,
    nodes,
    linesOf: (node) => {
      const { start, end } = node.span as { start: number; end: number };
      lineAt ??= createLineAt(Buffer.from(text));
      return [lineAt(start - base), lineAt(end - base)];
    },
  };
};

/** Returns a function that finds the line of a byte, counted from 1. */
const createLineAt = (bytes: Buffer): ((position: number) => number) => {
  const ends: number[] = [];
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) ends.push(at);
  return (position) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** Calls `visit` for every node below `value`, parents first. */
export const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value) walk(entry, visit);
    return;
  }
  if (isNode(value)) visit(value);
  const fields = value as Record<string, unknown>;
  for (const field of Object.keys(fields)) if (field !== 'span') walk(fields[field], visit);
};

/** `a.b.c` for a member expression of plain names; otherwise undefined. */
export const dotted = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined;
  if (node.type === 'Identifier') return String(node.value);
  if (node.type !== 'MemberExpression') return undefined;
  const object = dotted(node.object);
  const property = node.property as Node;
  return object === undefined || property.type !== 'Identifier'
    ? undefined
    : `${object}.${String(property.value)}`;
};

/** The files that `file` imports, even only for types, or refers to by a relative URL. */
export const importsOf = (file: string): string[] => {
  const patterns = [
    /\bfrom\s*['"]([^'"]+)['"]/g,
    /\bimport\s*\(\s*['"]([^'"]+)['"]/g,
    /\bimport\s*['"]([^'"]+)['"]/g,
    /\bnew URL\(\s*['"]([^'"]+)['"]\s*,\s*import\.meta\.url/g,
    /\bimport\.meta\.resolve\(\s*['"]([^'"]+)['"]/g,
  ];
  const text = read(file);
  const named = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''));
  return named.map((name) => {
    if (name.startsWith('.')) return join(dirname(file), name);
    return name
      .replace(/^@fitness\/(shared|contracts|demo|ops)\//, 'packages/$1/src/')
      .replace(/^@fitness\/proto\//, 'proto/');
  });
};

/** A Markdown table as biome formats it. */
export const markdownTable = (lines: readonly (readonly string[])[]): string => {
  const [head = [], ...rest] = lines;
  const widths = head.map((_cell, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const render = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${[render(head), rule, ...rest.map(render)].join('\n')}\n`;
};
