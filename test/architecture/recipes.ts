/** The pages of `docs/recipes`: their texts, and the commands at their ends. */
import { files, read } from './support.ts';

const DIRECTORY = 'docs/recipes/';

/** The names of the recipes: `endpoint`. */
export const RECIPES = files
  .filter((file) => file.startsWith(DIRECTORY) && !file.endsWith('/README.md'))
  .map((file) => file.slice(DIRECTORY.length).replace('.md', ''));

export const readRecipe = (name: string): string => read(`${DIRECTORY}${name}.md`);

/** The commands that test the change, one a line. */
export const commandsOf = (recipe: string): string[] =>
  (/^```sh\n([^`]+)\n```\n$/m.exec(recipe)?.[1] ?? '').split('\n').filter((line) => line !== '');
