/** Generates and compiles clients of the API document with openapi-generator. Results are cached by their sources. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { loadApiDocument } from '../../scripts/lib/api-document.mjs';
import { cacheDirectory, findExecutable, nodeBinary, root } from '../../scripts/lib/paths.mjs';

const run = promisify(execFile);

const GENERATOR = {
  version: '7.17.0',
  sha256: '25d6bd8273dd2be99979d544b62ea43f0ce1975f1aa582678b5093d1e7fcfce8',
};
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const OPTIONS = { maxBuffer: 64 * 1024 * 1024 };

export type Program = (args: readonly string[]) => Promise<string>;

const program = (name: string): string => {
  const path = findExecutable(name);
  if (path === undefined)
    throw new Error(`${name} is missing: apt-get install default-jdk-headless maven (Java 17 or later)`);
  return path;
};

const sha256 = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

/** Path of the generator's jar, downloaded from Maven's registry. */
const generator = async (): Promise<string> => {
  const directory = cacheDirectory(`openapi-generator-${GENERATOR.version}`);
  const jar = join(directory, `openapi-generator-cli-${GENERATOR.version}.jar`);
  if (!existsSync(jar)) {
    const artifact = `org.openapitools:openapi-generator-cli:${GENERATOR.version}`;
    const copy = [`${DEPENDENCY_PLUGIN}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${directory}`];
    await run(program('mvn'), ['-q', '-B', ...copy], OPTIONS);
  }
  const checksum = sha256(readFileSync(jar));
  if (checksum !== GENERATOR.sha256) throw new Error(`${jar} has the checksum ${checksum}`);
  return jar;
};

const generate = async (name: string, directory: string, properties: readonly string[]): Promise<void> => {
  const document = join(directory, 'openapi.json');
  writeFileSync(document, JSON.stringify(await loadApiDocument()));
  await run(
    program('java'),
    [
      ...['-jar', await generator(), 'generate', '-g', name, '-i', document, '-o', join(directory, 'client')],
      // The generator's validator does not know all of OpenAPI 3.1.
      '--skip-validate-spec',
      `--additional-properties=${properties.join(',')}`,
      '--global-property=apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false',
    ],
    OPTIONS,
  );
};

/** A documented successful response: `body` is its example, `schema` the name of its component. */
interface DocumentedSuccess {
  operationId: string;
  /** The operation's class in a generated client. */
  api: string;
  status: number;
  schema: string;
  body: unknown;
}

/** The class that the generator derives from a tag: "training services" becomes TrainingServicesApi. */
const apiOf = (tag: string): string =>
  `${tag.replaceAll(/(?:^|[^a-z]+)([a-z])/gi, (_match, letter: string) => letter.toUpperCase())}Api`;

/** All documented successful responses with a JSON body. */
export const documentedSuccesses = async (): Promise<DocumentedSuccess[]> => {
  const { paths } = await loadApiDocument();
  return Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ operationId, tags, responses }) =>
      // biome-ignore lint/suspicious/noExplicitAny: the document is JSON
      Object.entries(responses as Record<string, any>).flatMap(([status, response]) => {
        const json = response.content?.['application/json'];
        if (!status.startsWith('2') || json === undefined) return [];
        const schema = String(json.schema.$ref).split('/').at(-1) ?? '';
        const api = apiOf(tags?.[0] ?? '');
        return [
          { operationId: String(operationId), api, status: Number(status), schema, body: json.example },
        ];
      }),
    );
};

/** A directory where `make` has succeeded for these sources. Earlier directories of the client are removed. */
const madeOnce = async (
  client: string,
  sources: readonly string[],
  make: (directory: string) => Promise<void>,
): Promise<string> => {
  const cache = cacheDirectory(`generated-${client}-client`);
  const contents = ['test/clients/generate.ts', ...sources].map((file) => readFileSync(join(root, file)));
  const key = sha256(JSON.stringify(await loadApiDocument()), ...contents);
  const directory = join(cache, key);
  if (existsSync(directory)) return directory;
  for (const earlier of readdirSync(cache)) rmSync(join(cache, earlier), { recursive: true, force: true });
  const unfinished = join(cache, `${key}.unfinished`);
  mkdirSync(unfinished);
  await make(unfinished);
  renameSync(unfinished, directory);
  return directory;
};

export const kotlinClient = async (): Promise<Program> => {
  const sources = ['test/clients/kotlin/pom.xml', 'test/clients/kotlin/src/Main.kt'];
  const directory = await madeOnce('kotlin', sources, async (target) => {
    await generate('kotlin', target, [
      'library=jvm-okhttp4',
      'serializationLibrary=moshi',
      'packageName=client',
      'omitGradleWrapper=true',
    ]);
    await run(
      program('mvn'),
      [
        ...['-q', '-B', '-f', join(root, 'test/clients/kotlin/pom.xml')],
        `-Dclient.sources=${join(target, 'client/src/main/kotlin')}`,
        `-Dclient.target=${join(target, 'target')}`,
        ...['compile', `${DEPENDENCY_PLUGIN}:build-classpath`],
        `-Dmdep.outputFile=${join(target, 'classpath')}`,
      ],
      OPTIONS,
    );
  });
  const libraries = readFileSync(join(directory, 'classpath'), 'utf8').trim();
  const classpath = [join(directory, 'target/classes'), libraries].join(delimiter);
  return async (args) => (await run(program('java'), ['-cp', classpath, 'MainKt', ...args], OPTIONS)).stdout;
};

const STRICT = {
  compilerOptions: {
    strict: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    outDir: 'out',
    rootDir: '.',
  },
  include: ['main.ts', 'client'],
};

export const typescriptFetchClient = async (): Promise<Program> => {
  const main = 'test/clients/typescript-fetch/main.ts';
  const directory = await madeOnce('typescript-fetch', [main], async (target) => {
    await generate('typescript-fetch', target, ['importFileExtension=.js']);
    cpSync(join(root, main), join(target, 'main.ts'));
    writeFileSync(join(target, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(target, 'tsconfig.json'), JSON.stringify(STRICT));
    await run(nodeBinary, [join(root, 'node_modules/typescript/bin/tsc'), '-p', target], OPTIONS);
  });
  return async (args) => (await run(nodeBinary, [join(directory, 'out/main.js'), ...args], OPTIONS)).stdout;
};
