/** Reads the tables in `docs/access.md`. */
import { readFileSync } from 'node:fs';

const TOKEN_KINDS = ['session', 'personal', 'restricted', 'OAuth'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];
/** Pages whose sessions are in the table. */
const PAGES = ['/ops', '/account-deletion'] as const;
export type Page = (typeof PAGES)[number];
export type Kind = TokenKind | Page | 'guest';

/** Sets of permissions, one of which the token needs. Empty if it needs none. */
type Needs = readonly (readonly string[])[];

export interface RouteRow {
  /** A route such as `GET /gyms/{id}`; below `/api/v1`, except `/mcp`. */
  route: string;
  needs: Needs;
  opensTo: ReadonlySet<Kind>;
}

interface OwnRow {
  resource: string;
  access: Record<TokenKind, boolean | Needs>;
}

const DOCUMENT = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8');

/** Rows of the first table below a heading, by column name. */
const tableOf = (heading: string): Record<string, string>[] => {
  const [, section = ''] = DOCUMENT.split(`\n## ${heading}\n`);
  const [head = [], , ...rows] = (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
  if (rows.length === 0) throw new Error(`no table below ${heading}`);
  return rows.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])));
};

const parseNeeds = (cell: string): Needs =>
  cell === ''
    ? []
    : cell.split(', ').map((set) => set.split(' + ').map((permission) => permission.replaceAll('`', '')));

const parseAnswer = (cell: string | undefined): boolean => {
  if (cell !== 'yes' && cell !== 'no') throw new Error(`neither yes nor no: ${cell}`);
  return cell === 'yes';
};

const parseAccess = (cell: string): boolean | Needs =>
  cell === 'yes' || cell === 'no' ? parseAnswer(cell) : parseNeeds(cell);

const nameOf = (cell: string | undefined): string => (cell ?? '').replaceAll('`', '');

export const ROUTES: readonly RouteRow[] = tableOf('Routes').map((row) => ({
  route: nameOf(row.route),
  needs: parseNeeds(row.permission ?? ''),
  opensTo: new Set(
    (['guest', ...TOKEN_KINDS, ...PAGES] as const).filter((kind) =>
      parseAnswer(row[kind] ?? row[`\`${kind}\``]),
    ),
  ),
}));

export const OWN_RESOURCES: readonly OwnRow[] = tableOf('Own resources').map((row) => ({
  resource: nameOf(row.resource),
  access: Object.fromEntries(
    TOKEN_KINDS.map((kind) => [kind, parseAccess(row[kind] ?? '')]),
  ) as OwnRow['access'],
}));

export const TOOLS = tableOf('Tools of `/mcp`').map((row) => ({
  tool: nameOf(row.tool),
  needs: parseNeeds(row.permission ?? ''),
}));

export const fulfils = (held: ReadonlySet<string>, needs: Needs): boolean =>
  needs.length === 0 || needs.some((set) => set.every((permission) => held.has(permission)));
