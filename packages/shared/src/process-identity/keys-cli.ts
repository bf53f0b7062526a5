/**
 * The key pairs of the processes (docs/adr/0053), in `<directory>/private/<process>/` and `<directory>/public/`:
 *
 *   npm run keys -- create <directory>            makes the keys that are missing
 *   npm run keys -- certify <directory>           makes the certificates that are missing or end soon
 *   npm run keys -- rotate <directory> <process>  replaces the key of a process while it runs, in half a minute
 *
 * The three steps of a rotation, where the files reach the processes in another way (Kubernetes):
 *
 *   npm run keys -- begin <directory> <process>   the next public key is added: hand out the public keys
 *   npm run keys -- switch <directory> <process>  the private key is replaced: hand out the private key
 *   npm run keys -- finish <directory> <process>  the old public key is removed: hand out the public keys
 */
import { SECOND_MS } from '../kernel/clock.ts';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { sleep } from '../kernel/timing.ts';
import { CONTEXT_LIFETIME_S } from './caller-context.ts';
import { beginRotation, createMissingKeys, finishRotation, switchKey } from './key-files.ts';
import { PUBLIC_KEYS_CHECK_MS } from './process-keys.ts';

/** A margin for the reading of files and for clock differences. */
const MARGIN_MS = 5 * SECOND_MS;

const [command = '', directory = '', name = ''] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const isProcess = (text: string): text is ProcessName => PROCESSES.some((each) => each === text);

const steps = {
  begin: (owner: ProcessName) => {
    beginRotation(directory, owner);
    say(`Added the next public key of ${owner}.`);
  },
  switch: (owner: ProcessName) => {
    switchKey(directory, owner);
    say(`Replaced the private key of ${owner}.`);
  },
  finish: (owner: ProcessName) => {
    finishRotation(directory, owner);
    say(`Removed the old public key of ${owner}.`);
  },
};

const isStep = (text: string): text is keyof typeof steps => Object.hasOwn(steps, text);

const rotate = async (owner: ProcessName): Promise<void> => {
  steps.begin(owner);
  await sleep(PUBLIC_KEYS_CHECK_MS + MARGIN_MS);
  steps.switch(owner);
  await sleep(CONTEXT_LIFETIME_S * SECOND_MS + MARGIN_MS);
  steps.finish(owner);
};

const sayMade = (what: string, made: readonly string[]): void =>
  say(
    made.length === 0
      ? `No ${what} had to be made in ${directory}.`
      : `Made the ${what} of ${made.join(', ')} in ${directory}.`,
  );

const run = async (): Promise<boolean> => {
  if (directory === '') return false;
  if (command === 'create') {
    sayMade('keys', createMissingKeys(directory));
    return true;
  }
  if (command === 'certify') {
    // Nothing else needs the library.
    const { createMissingCertificates } = await import('./certificates.ts');
    sayMade('certificates', await createMissingCertificates(directory));
    return true;
  }
  if (!isProcess(name)) return false;
  if (command === 'rotate') await rotate(name);
  else if (isStep(command)) steps[command](name);
  else return false;
  return true;
};

try {
  if (!(await run())) {
    process.stderr.write(
      `npm run keys -- create or certify <directory> | rotate, begin, switch or finish <directory> <${PROCESSES.join('|')}>\n`,
    );
    process.exitCode = 64;
  }
} catch (error) {
  process.stderr.write(`failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
