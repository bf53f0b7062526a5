/** The sample in TypeScript of an operation; the reference makes those in other languages itself. */
import type { Operation } from '../openapi-merge.ts';
import { requestExample } from './examples/index.ts';
import { isObject, type Json } from './schema.ts';

const indent = (text: string): string => text.replaceAll('\n', '\n  ');

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
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is a template in the sample
  const options = [
    `method: '${method.toUpperCase()}'`,
    isForm || body === undefined
      ? 'headers: { Authorization: `Bearer ${token}` }'
      : "headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }",
    ...(isForm ? ['body: form'] : []),
    ...(!isForm && body !== undefined ? [`body: JSON.stringify(${JSON.stringify(body, null, 2)})`] : []),
  ];
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above
  const form = isForm && isObject(body) ? formLines(Object.entries(body)) : '';
  return `${form}const response = await fetch(${quote}${baseUrl}${url}${quote}, {
  ${indent(options.join(',\n'))},
});
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`);
`;
};

const formLines = (fields: readonly [string, Json | undefined][]): string => {
  const lines = fields.map(([name, value]) =>
    name === 'file' ? `form.set('file', file);` : `form.set('${name}', ${JSON.stringify(String(value))});`,
  );
  return `const form = new FormData();\n${lines.join('\n')}\n`;
};
