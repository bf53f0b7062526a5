import { ensurePythonScript } from './python.mjs';

const requirement = 'SecantusDB==0.7.0b3';

/**
 * SecantusDB from PyPI.
 * @param {import('./candidate.mjs').Context} context
 */
export const ensureSecantusPython = (context) =>
  ensurePythonScript(context, {
    server: 'MongoDB',
    name: requirement.toLowerCase().replace('==', '-'),
    requirements: [requirement],
    script: 'secantusd-py',
    pre: true,
  });
