import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { TOUR_STEPS } from './steps.ts';

const GUIDE = readFileSync(new URL('../../../../docs/guides/apps/tour.md', import.meta.url), 'utf8');

/** A shell function, in one line or several. Captures its name and commands. */
const FUNCTION = /^(\w+)\(\) \{(?: ([^\n]*) \}[^\n]*|\n(.*?)\n\})$/gms;

/** The addresses that each block of the guide calls. Functions are expanded, and values are replaced with `*`. */
const tourOfGuide = (): string[][] => {
  const functions = new Map(
    [...GUIDE.matchAll(FUNCTION)].map(([, name = '', line, lines]) => [name, line ?? lines ?? '']),
  );
  return [...GUIDE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => {
    const commands = block
      .replaceAll(FUNCTION, '')
      .replaceAll(/^(?:TOKEN=\$\()?(\w+)\b/gm, (call, name) => functions.get(name) ?? call);
    return [...commands.matchAll(/\$(API|SANDBOX)(\/[^" ]+)/g)].map(
      ([, target, path = '']) =>
        (target === 'API' ? '/api/v1' : '') + path.replaceAll(/\$\{[^}]*\}|\$[A-Z]+/g, '*'),
    );
  });
};

test('the tour sends the same requests as docs/guides/apps/tour.md, in the same order', () => {
  const steps = TOUR_STEPS.map(({ requests }) =>
    requests.map(({ path }) => path.replaceAll(/\{\w+\}/g, '*')),
  );
  expect(steps).toEqual(tourOfGuide());
});

test('every value in a request is saved earlier, by its step or by a step before it', () => {
  const savedBy = (name: string | undefined): string[] => {
    const step = TOUR_STEPS.find((each) => each.name === name);
    if (step === undefined) return [];
    return [
      ...savedBy(step.after),
      ...(step.isNewMember === true ? ['phone'] : []),
      ...step.requests.flatMap(({ keep = {} }) => Object.keys(keep)),
    ];
  };
  for (const step of TOUR_STEPS) {
    const saved = new Set([...savedBy(step.after), ...(step.isNewMember === true ? ['phone'] : [])]);
    for (const { path, body, isSignedIn, keep = {} } of step.requests) {
      const text = `${path} ${JSON.stringify(body)} ${isSignedIn === true ? '{token}' : ''}`;
      for (const [, name = ''] of text.matchAll(/\{(\w+)\}/g))
        expect([step.name, path, saved.has(name)]).toEqual([step.name, path, true]);
      for (const name of Object.keys(keep)) saved.add(name);
    }
  }
});
