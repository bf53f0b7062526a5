import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from './paths.mjs';

const directory = join(dataDirectory, 'environment');
const dataFolders = ['JOURNAL_DIRECTORY', 'MEDIA_DIRECTORY', 'PUBLIC_KEYS_DIRECTORY'];

/** Quotes a value for Node's parser: it ends at the same quote and may contain line breaks. @param {string} value */
const quoted = (value) => {
  const quote = ["'", '`', '"'].find((each) => !value.includes(each)) ?? "'";
  return `${quote}${value}${quote}`;
};

/**
 * Writes the environment file that operator commands read (package.json) to find the servers and databases of `npm start`.
 * Variables of the caller's environment are left out, since they take priority for the commands too. The folders with data stay: backups
 * compare them.
 * @param {string} name
 * @param {NodeJS.ProcessEnv} environment
 */
export function writeEnvironment(name, environment) {
  const own = Object.entries(environment).filter(
    ([key, value]) => process.env[key] !== value || dataFolders.includes(key),
  );
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lines = own.map(([key, value]) => `${key}=${quoted(value ?? '')}\n`);
  writeFileSync(join(directory, `${name}.env`), lines.join(''), { mode: 0o600 });
}
