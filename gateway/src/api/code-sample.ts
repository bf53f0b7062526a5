/** The sample in TypeScript of an operation; the reference makes those in other languages itself. */
import type { Operation } from '../openapi-merge.ts';
import { requestExample } from './examples/index.ts';
import { isObject, type Json } from './schema.ts';

const indent = (text: string): string => text.replaceAll('\n', '\n  ');

/** Somebody who copies the log-in has no token yet. */
const needsToken = ({ security }: Operation): boolean =>
  Array.isArray(security) && security.every((one) => isObject(one) && Object.keys(one).length > 0);

const answersJson = ({ responses }: Operation): boolean =>
  isObject(responses) &&
  Object.entries(responses).some(
    ([status, response]) =>
      status.startsWith('2') &&
      isObject(response) &&
      isObject(response.content) &&
      'application/json' in response.content,
  );

const parametersOf = ({ parameters }: Operation): Record<string, Json | undefined>[] =>
  Array.isArray(parameters) ? parameters.filter(isObject) : [];

export const typescriptSample = (
  { method, path, baseUrl }: { method: string; path: string; baseUrl: string },
  operation: Operation,
): string => {
  const inPath = parametersOf(operation).filter(({ in: place }) => place === 'path');
  const url = inPath.reduce((text, { name }) => text.replace(`{${name}}`, `\${${String(name)}}`), path);
  const quote = inPath.length > 0 ? '`' : "'";
  const body = requestExample(String(operation.operationId));
  const isForm =
    isObject(operation.requestBody) && JSON.stringify(operation.requestBody).includes('multipart');
  const headers = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template in the sample
    ...(needsToken(operation) ? ['Authorization: `Bearer ${token}`'] : []),
    ...(isForm || body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    `method: '${method.toUpperCase()}'`,
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(isForm ? ['body: form'] : []),
    ...(!isForm && body !== undefined ? [`body: JSON.stringify(${JSON.stringify(body, null, 2)})`] : []),
  ];
  const form = isForm && isObject(body) ? formLines(Object.entries(body)) : '';
  return `${form}const response = await fetch(${quote}${baseUrl}${url}${quote}, {
  ${indent(options.join(',\n'))},
});
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`);
${answersJson(operation) ? 'const data = await response.json();\n' : ''}`;
};

const formLines = (fields: readonly [string, Json | undefined][]): string => {
  const lines = fields.map(([name, value]) =>
    name === 'file' ? `form.set('file', file);` : `form.set('${name}', ${JSON.stringify(String(value))});`,
  );
  return `const form = new FormData();\n${lines.join('\n')}\n`;
};
