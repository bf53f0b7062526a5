import { describe, expect, test } from '@jest/globals';
import { alertOf, inputsOf } from './form.ts';

const LOGIN = { name: 'login', label: 'Login', autocomplete: 'username' };
const PASSWORD = {
  name: 'password',
  label: 'Password',
  autocomplete: 'current-password',
  type: 'password',
} as const;

describe('the inputs of a form', () => {
  test('inputs have no focus and no refusal while nothing was refused', () => {
    expect(inputsOf([LOGIN, { ...PASSWORD, refused: [] }]).toString()).not.toMatch(/autofocus|aria-|problem/);
  });

  test('inputs name their refusals, and only the first refused one has the focus', () => {
    const refused = [
      LOGIN,
      { ...PASSWORD, refused: ['Wrong.', 'Short.'] },
      { ...LOGIN, name: 'code', refused: ['Old.'] },
    ];
    const text = inputsOf(refused).toString();
    const state = (name: string): string | undefined =>
      new RegExp(`<input name="${name}"[^>]* value=""([^>]*)>`).exec(text)?.[1];
    expect(state('login')).toBe('');
    expect(state('password')).toBe(
      ' id="password-refused" aria-invalid="true" aria-describedby="password-problem" autofocus',
    );
    expect(state('code')).toBe(' id="code-refused" aria-invalid="true" aria-describedby="code-problem"');
  });

  test('a refused input is grouped with its label and the reason between them', () => {
    const [, group = ''] =
      /<div class="refused">(.*?)<\/div>/s.exec(
        inputsOf([LOGIN, { ...PASSWORD, refused: ['Wrong.'] }]).toString(),
      ) ?? [];
    expect(group.split('\n')).toEqual([
      '<label for="password-refused">Password</label>',
      '<p class="problem" id="password-problem">Wrong.</p>',
      expect.stringMatching(/^<input name="password" .* id="password-refused" /),
    ]);
  });

  test('inputs never repeat markup as markup', () => {
    const markup = '"><b>';
    expect(inputsOf([{ ...LOGIN, value: markup, refused: [markup] }]).toString()).not.toContain(markup);
  });
});

test('an alert can have the focus, and has it unless an input of the page has it', () => {
  expect(alertOf('No.').toString()).toBe('<p class="problem" role="alert" tabindex="-1" autofocus>No.</p>');
  expect(alertOf('No.', false).toString()).not.toContain('autofocus');
});
