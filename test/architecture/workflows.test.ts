/** The workflows of GitHub, which have never run: everything that can be known without running them. */
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { files, read } from './support.ts';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, string>;
}

interface Workflow {
  jobs: Record<string, { needs?: string; steps: Step[] }>;
}

const workflows = files.filter((file) => /^\.github\/workflows\/.*\.yml$/.test(file));

test.each(workflows)('%s says that it has never run, and pins every action by its commit', (file) => {
  const text = read(file);
  expect(text.split('\n')[0]).toContain('Never run');
  const actions = [...text.matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action);
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual(
    [],
  );
});

test('all workflows use the same commit of an action', () => {
  const actions = workflows.flatMap((file) =>
    [...read(file).matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action),
  );
  const commits = new Map(actions.map((action) => [action.split('@')[0], action]));
  expect(new Set(actions).size).toBe(commits.size);
});

test('a release tests the tagged commit, then scans both images, and only then publishes them for both processors', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as Workflow;
  expect(jobs.test?.steps.at(-1)?.run).toBe('.ci/run');
  expect(read('.ci/run')).toMatch(/^for command in "?test\b/m);
  expect(jobs.images?.needs).toBe('test');
  const steps = jobs.images?.steps ?? [];
  const publishes = steps.findIndex(({ run = '' }) => run.includes('--push'));
  const scans = steps.flatMap(({ uses = '', with: options }, index) =>
    uses.startsWith('anchore/scan-action@') ? [{ index, image: options?.image }] : [],
  );
  expect(scans.map(({ image }) => image)).toEqual(['scanned:product', 'scanned:sandbox']);
  expect(scans.every(({ index }) => index < publishes)).toBe(true);
  expect(steps[publishes]?.run).toContain('--platform linux/amd64,linux/arm64');
});
