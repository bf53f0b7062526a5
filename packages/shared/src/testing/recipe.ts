import { expect } from '@jest/globals';

/** Like `expect(actual).toEqual(expected)`, but a failure also names the page of `docs/recipes` that says what to do. */
export const expectByRecipe = (recipe: string, actual: unknown, expected: unknown = []): void => {
  try {
    expect(actual).toEqual(expected);
  } catch (error) {
    const failure = new Error(`${(error as Error).message}\n\nWhat to do: docs/recipes/${recipe}.md`);
    Error.captureStackTrace(failure, expectByRecipe);
    throw failure;
  }
};
