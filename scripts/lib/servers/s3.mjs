import { dockerCandidate, pick, processServer } from './candidate.mjs';
import { ensurePythonScript } from './python.mjs';

const version = '5.2.5';
/** The packages that moto needs for S3. Its extra "server" would install all of Amazon's services. */
const requirements = [`moto[s3]==${version}`, 'flask', 'flask-cors'];

/** @param {number} port */
const uriAt = (port) => `http://127.0.0.1:${port}`;

/** Whether the server responds with a status below 500. Without credentials it may refuse. @param {string} uri */
const answers = (uri) =>
  fetch(uri, { signal: AbortSignal.timeout(2_000) }).then(
    ({ status }) => status < 500,
    () => false,
  );

/**
 * A server with the S3 protocol for tests. User and password are MinIO's default, `minioadmin`.
 * @param {number} port
 * @returns {import('./candidate.mjs').ServerDefinition}
 */
const s3 = (port) => ({
  name: 'S3',
  uriVariable: 'TEST_S3_ENDPOINT',
  check: async (uri) => ((await answers(uri)) ? undefined : 'nothing responds there'),
  candidates: [
    dockerCandidate('minio/minio:RELEASE.2025-09-07T16-13-09Z', () => ({
      name: 's3',
      hostPort: port,
      containerPort: 9000,
      volume: '/data',
      args: ['server', '/data'],
      uri: uriAt(port),
      answers: () => answers(uriAt(port)),
    })),
    {
      engine: 'moto',
      title: 'moto (from PyPI)',
      async find(context) {
        const source = { server: 'S3', name: `moto-${version}`, requirements, script: 'moto_server' };
        const program = await ensurePythonScript(context, source);
        if (typeof program === 'string') return program;
        const args = [...program.args, '--host', '127.0.0.1', '--port', String(port)];
        const launch = { name: 's3', command: program.command, args, cwd: context.directory };
        return processServer(context, uriAt(port), launch, () => answers(uriAt(port)));
      },
    },
  ],
  advice:
    'Install Docker, or Python 3 with its venv module and a reachable PyPI; or set TEST_S3_ENDPOINT to a MinIO.',
});

/** @param {import('./candidate.mjs').Context} context @param {number} port */
export const startS3 = (context, port) => pick(s3(port), context);
