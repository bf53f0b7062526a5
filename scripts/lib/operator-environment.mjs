import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from './paths.mjs';

const directory = join(dataDirectory, 'environment');

/** As Node reads it: the value ends at the same quote, and has its line breaks. @param {string} value */
const quoted = (value) => {
  const quote = ["'", '`', '"'].find((each) => !value.includes(each)) ?? "'";
  return `${quote}${value}${quote}`;
};

/**
 * The commands of operators read these files (package.json), so that they find the servers and databases of `npm start`. What the caller's
 * own environment has is left out: it has priority there as well.
 * @param {string} name
 * @param {NodeJS.ProcessEnv} environment
 */
export function writeEnvironment(name, environment) {
  const own = Object.entries(environment).filter(([key, value]) => process.env[key] !== value);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lines = own.map(([key, value]) => `${key}=${quoted(value ?? '')}\n`);
  writeFileSync(join(directory, `${name}.env`), lines.join(''), { mode: 0o600 });
}
