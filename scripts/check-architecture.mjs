/**
 * Checks the rules of .dependency-cruiser.cjs. The tool reports no violation for files that it cannot read,
 * so the number of modules is checked too.
 */
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cruise } from 'dependency-cruiser';
import { root } from './lib/paths.mjs';

process.chdir(root);
const { options, ...ruleSet } = createRequire(import.meta.url)('../.dependency-cruiser.cjs');
const roots = ['packages', 'proto', 'services', 'gateway', 'sandbox', 'bench', 'test'];
const sources = globSync(roots.map((name) => `${name}/**/*.ts`)).filter(
  (file) => !file.includes('node_modules') && !file.startsWith('proto/gen/'),
);
const { output } = await cruise([...roots, 'scripts/**/*.mjs'], {
  ...options,
  ruleSet,
  validate: true,
  outputType: 'json',
});
const { modules, summary } = JSON.parse(String(output));

const seen = new Set(modules.map((/** @type {{ source: string }} */ { source }) => source));
const unseen = sources.filter((file) => !seen.has(file));
for (const { rule, from, to, cycle } of summary.violations) {
  const path = cycle ? cycle.map((/** @type {{ name: string }} */ { name }) => name).join(' → ') : to;
  console.error(`${rule.severity}: ${rule.name}: ${from} → ${path}`);
}
if (unseen.length > 0) console.error(`not read: ${unseen.join(', ')}`);
console.log(
  `${sources.length} sources, ${summary.totalDependenciesCruised} imports, ${summary.violations.length} violations`,
);
process.exit(sources.length === 0 || unseen.length > 0 || summary.violations.length > 0 ? 1 : 0);
