/** The commands of package.json; commands.long.test.ts runs them. */
import { expect, test } from '@jest/globals';
import { read } from './support.ts';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));

test('every command installs missing packages first', () => {
  const others = Object.entries(scripts).filter(
    ([, command]) => !/^(?:(?:\w+=\d+ )?node scripts\/(?:run|start)\.mjs|git)(?: |$)/.test(command),
  );
  expect(others).toEqual([]);
});

test('the guide names the program of every command that runs in containers', () => {
  const rows = [
    ...read('docs/guides/operators/commands.md').matchAll(/^\| `([\w:-]+)` +\| `([^` ]+\.ts)` /gm),
  ];
  const named = Object.fromEntries(rows.map(([, command = '', program]) => [command, program]));
  const programs = Object.entries(scripts).flatMap(([command, text]) => {
    const program = / ((?:packages|services)\/\S+\.ts)$/.exec(text)?.[1];
    return program === undefined || /^(?:keys|credentials|mongodb-users)$/.test(command)
      ? []
      : [[command, program]];
  });
  expect(programs).toHaveLength(10);
  expect(named).toEqual(Object.fromEntries(programs));
});
