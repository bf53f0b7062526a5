/** A changed index needs a new name: two releases run side by side, and a name must mean the same in both (docs/adr/0014). */
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { expect, test } from '@jest/globals';
import { definedIndexes, recordedIndexes } from './generated/indexes.ts';

test('no recorded definition of an index has changed', async () => {
  const [defined, recorded] = [await definedIndexes(), recordedIndexes()];
  expect(Object.keys(defined).length).toBeGreaterThan(80);
  const changed = Object.keys(defined).filter((name) => defined[name] !== (recorded[name] ?? defined[name]));
  expectByRecipe('database-index', changed);
});
