import { type Declaration, type Handling, privacyOf } from '@fitness/shared/mongo/privacy.ts';
import { type Collection, loadCollections } from '../schemas.ts';
import { read, SERVICES } from '../support.ts';

const DOCUMENT = 'docs/erasure.md';
const HANDLINGS: readonly Handling[] = ['erase', 'pseudonymise', 'retain'];

/** The fields by reason. */
const cell = (declared: readonly Declaration[], handling: Handling): string => {
  const groups: { reason: string; paths: string[] }[] = [];
  for (const { reason, paths } of declared.filter((declaration) => declaration.handling === handling)) {
    const before = groups.find((group) => group.reason === reason);
    if (before !== undefined) before.paths.push(...paths);
    else groups.push({ reason, paths: [...paths] });
  }
  return groups
    .map(({ reason, paths }) => `${paths.map((path) => `\`${path}\``).join(' ')}: ${reason}`)
    .join('; ');
};

const row = ({ name, schema }: Collection): string => {
  const declared = privacyOf(schema ?? name) ?? [];
  return `| \`${name}\` | ${HANDLINGS.map((handling) => cell(declared, handling)).join(' | ')} |`;
};

const tableOf = (service: string, collections: readonly Collection[]): string =>
  [
    `## ${service}`,
    '',
    `| collection | ${HANDLINGS.join(' | ')} |`,
    `| --- | ${HANDLINGS.map(() => '---').join(' | ')} |`,
    ...collections
      .filter(({ owner }) => owner === service)
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map(row),
    '',
  ].join('\n');

/** What an erasure does to each stored field. */
export const generate = async (): Promise<Record<string, string>> => {
  const collections = await loadCollections();
  const [introduction = ''] = read(DOCUMENT).split(/^## /m, 1);
  const tables = ['every service', ...SERVICES].map((service) => tableOf(service, collections));
  return { [DOCUMENT]: introduction + tables.join('\n') };
};
