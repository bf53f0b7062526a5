import { PROVIDER_PORT, PROVIDERS, productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { loadConfigurations, owners, type Variable } from '../configurations.ts';
import {
  composeServices,
  documented,
  EXAMPLE,
  imageVariables,
  isCredential,
  isOfDemoData,
  isSecret,
  kubernetesEnvironment,
  nameOf,
  overlayFile,
  parseEnvFile,
  secretExample,
  settingsFile,
  shownSettings,
  valueName,
} from '../deployments.ts';
import { read } from '../support.ts';

const COMPOSE = 'docker-compose.yml';
const DEMO = 'deploy/demo.env';
/** The origin of the sandbox in the demos. */
const IN_DEMOS = 'http://sandbox.localhost:8090';

/** Inserts lines after the last non-empty line of the first match of `part`. */
const insert = (text: string, part: RegExp, lines: readonly string[]): string => {
  const match = part.exec(text);
  if (match === null) throw new Error(`there is no part ${part}`);
  const end = text.slice(0, match.index + match[0].length).trimEnd().length;
  return `${text.slice(0, end)}\n${lines.join('\n')}${text.slice(end)}`;
};

/** Pattern for the section of one process, or of all processes. */
const sectionOf = (readers: ReadonlySet<string>): RegExp => {
  const [reader = ''] = readers;
  const title = readers.size === 1 ? reader.replace('services/', '').replace('-', ' ') : 'all processes';
  return new RegExp(`^# ${title}\n# -+\n(?:(?!# --).*\n)*`, 'im');
};

/** Pattern for the variables of one process in docker-compose.yml. */
const environmentOf = (owner: string): RegExp =>
  new RegExp(`^  ${owner.replace('services/', '')}:\\n(?: {4}.*\\n)*? {4}environment:\\n(?: {6}.*\\n)*`, 'm');

/** The ports of the emulated providers. */
const setPorts = (text: string): string =>
  text.replaceAll(
    new RegExp(`${PROVIDER_PORT}-\\d+`, 'g'),
    `${PROVIDER_PORT}-${PROVIDER_PORT + PROVIDERS.length - 1}`,
  );

const defaultOf = ({ field }: Variable): unknown => field.safeParse(undefined).data ?? '';

const example = (variables: readonly Variable[]): string => {
  const shown = documented();
  const missing = new Map<string, Set<string>>();
  for (const variable of variables.filter(({ name }) => !shown.has(name))) {
    const line = `# ${variable.name}=${defaultOf(variable)}`;
    missing.set(line, (missing.get(line) ?? new Set()).add(variable.reader));
  }
  return [...missing].reduce(
    (text, [line, readers]) => insert(text, sectionOf(readers), [line]),
    setPorts(read(EXAMPLE)),
  );
};

/** Passes variables to the container of a process. Secrets may also come from a file, which no other container gets. */
const pass = (text: string, owner: string, names: readonly string[]): string => {
  const secrets = names.filter(isCredential);
  const lines = names.flatMap((name) => [
    `      ${name}:`,
    ...(secrets.includes(name) ? [`      ${name}_FILE: /run/secrets/${name}`] : []),
  ]);
  const passed = insert(text, environmentOf(owner), lines);
  if (secrets.length === 0) return passed;
  const container = new RegExp(`(${environmentOf(owner).source})(?: {4}secrets:\\s+\\[(.*)\\]\\n)?`, 'm');
  const listed = passed.replace(container, (_part, environment: string, others?: string) => {
    const list = [...(others === undefined ? [] : [others]), ...secrets].join(', ');
    return `${environment}    secrets: [${list}]\n`;
  });
  const files = secrets.map((name) => `  ${name}: { file: "\${${name}_FILE:-/dev/null}" }`);
  return insert(listed, /^secrets:\n(?: {2}.*\n)+/m, files);
};

const compose = (variables: readonly Variable[]): string => {
  const services = composeServices();
  return owners.reduce(
    (text, owner) => {
      const passed = Object.keys(services[nameOf(owner)]?.environment ?? {}).map(valueName);
      const available = new Set([...passed, ...imageVariables()]);
      const missing = variables.filter(
        ({ reader, name }) => reader === owner && !available.has(name) && !isOfDemoData(owner, name),
      );
      return missing.length === 0 ? text : pass(text, owner, [...new Set(missing.map(({ name }) => name))]);
    },
    setPorts(read(COMPOSE)),
  );
};

/** A line with a wrong value is left to a test. */
const demo = (): string => {
  const shown = parseEnvFile(DEMO);
  const missing = Object.entries(productEnvironment(IN_DEMOS))
    // A key is generated at each start.
    .filter(([name, value]) => !value.startsWith('-----BEGIN') && shown[name] === undefined);
  const origin = `http://sandbox.localhost:\${SANDBOX_HTTP_PORT:-8090}`;
  const lines = missing.map(([name, value]) => `${name}=${value.replace(IN_DEMOS, origin)}`);
  return lines.length === 0 ? read(DEMO) : insert(read(DEMO), /.*/s, lines);
};

const kubernetes = (variables: readonly Variable[]): Record<string, string> => {
  const { common, secrets } = kubernetesEnvironment();
  const fixed = imageVariables();
  const isOfAll = (name: string): boolean =>
    owners.every((owner) => variables.some((each) => each.reader === owner && each.name === name));
  const texts: Record<string, string> = {};
  for (const variable of variables) {
    const { reader: owner, name } = variable;
    const listed = [common, shownSettings(owner), secrets(owner)].some((settings) => settings.has(name));
    if (listed || fixed.has(name) || isOfDemoData(owner, name)) continue;
    const file = isSecret(name) ? secretExample(owner) : settingsFile(isOfAll(name) ? 'all' : nameOf(owner));
    const line = isSecret(name) ? `${name}=` : `# ${name}=${defaultOf(variable)}`;
    const text = texts[file] ?? read(file);
    texts[file] = text.includes(line) ? text : insert(text, /.*/s, [line]);
  }
  return texts;
};

/** A line with a wrong value is left to a test. */
const kubernetesDemo = (variables: readonly Variable[]): Record<string, string> => {
  const { common, own } = kubernetesEnvironment('demo');
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(productEnvironment(IN_DEMOS))) {
    const owner = variables.find((variable) => variable.name === name)?.reader;
    if (owner === undefined || isSecret(name) || common.has(name) || own(owner).has(name)) continue;
    const file = overlayFile('demo', nameOf(owner));
    texts[file] = insert(texts[file] ?? read(file), /.*/s, [`${name}=${value}`]);
  }
  return texts;
};

/** The files that list the variables of the processes, with the missing ones. */
export const generate = async (): Promise<Record<string, string>> => {
  const { variables } = await loadConfigurations();
  return {
    [EXAMPLE]: example(variables),
    [COMPOSE]: compose(variables),
    [DEMO]: demo(),
    ...kubernetes(variables),
    ...kubernetesDemo(variables),
  };
};
