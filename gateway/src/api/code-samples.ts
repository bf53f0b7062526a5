/** Samples of an operation in TypeScript and Kotlin. The reference generates samples in other languages. */
import { requestExample } from './examples/index.ts';
import type { Operation } from './openapi-merge.ts';
import { isObject, type Json } from './schema.ts';

/** Sign-in and other public operations are shown without a token. */
const needsToken = ({ security }: Operation): boolean =>
  Array.isArray(security) && security.every((one) => isObject(one) && Object.keys(one).length > 0);

export const takesIdempotencyKey = ({ parameters }: Operation): boolean =>
  Array.isArray(parameters) &&
  parameters.some((parameter) => isObject(parameter) && parameter.name === 'idempotency-key');

const answersJson = ({ responses }: Operation): boolean =>
  isObject(responses) &&
  Object.entries(responses).some(
    ([status, response]) =>
      status.startsWith('2') &&
      isObject(response) &&
      isObject(response.content) &&
      'application/json' in response.content,
  );

interface Request {
  method: string;
  /** Contains the names of its parameters in braces, in camel case like variables. */
  url: string;
  hasPathParameters: boolean;
  needsToken: boolean;
  /** Whether the operation accepts `Idempotency-Key`. */
  takesKey: boolean;
  json: Json | undefined;
  form: readonly [name: string, value: string][] | undefined;
  answersJson: boolean;
}

interface Place {
  method: string;
  path: string;
  baseUrl: string;
}

const inCamelCase = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

const requestOf = ({ method, path, baseUrl }: Place, operation: Operation): Request => {
  const body = requestExample(String(operation.operationId));
  const isForm =
    isObject(operation.requestBody) && JSON.stringify(operation.requestBody).includes('multipart');
  const fields = isForm && isObject(body) ? Object.entries(body) : [];
  return {
    method,
    url: `${baseUrl}${path.replaceAll(/\{\w+\}/g, inCamelCase)}`,
    hasPathParameters: path.includes('{'),
    needsToken: needsToken(operation),
    takesKey: takesIdempotencyKey(operation),
    json: isForm ? undefined : body,
    form: isForm ? fields.map(([name, value]) => [name, String(value)]) : undefined,
    answersJson: answersJson(operation),
  };
};

/** The samples for the reference. Readers define the variables `token` and `file`, and those of the path. */
export const codeSamples = (place: Place, operation: Operation): Json => {
  const request = requestOf(place, operation);
  return [
    { lang: 'typescript', label: 'TypeScript', source: typescript(request) },
    { lang: 'kotlin', label: 'Kotlin (OkHttp)', source: kotlin(request) },
  ];
};

const KEY_COMMENT = 'Repeat the request with the same key, and it happens once.';

const typescript = ({ method, url, json, form, ...request }: Request): string => {
  const quote = request.hasPathParameters ? '`' : "'";
  const headers = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template in the sample
    ...(request.needsToken ? ['Authorization: `Bearer ${token}`'] : []),
    ...(request.takesKey ? ["'Idempotency-Key': idempotencyKey"] : []),
    ...(json === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    `method: '${method.toUpperCase()}'`,
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(form === undefined ? [] : ['body: form']),
    ...(json === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(json, null, 2)})`]),
  ];
  const fields = form?.map(([name, value]) =>
    name === 'file' ? `form.set('file', file);\n` : `form.set('${name}', ${JSON.stringify(value)});\n`,
  );
  const key = request.takesKey ? `// ${KEY_COMMENT}\nconst idempotencyKey = crypto.randomUUID();\n` : '';
  return `${key}${fields === undefined ? '' : `const form = new FormData();\n${fields.join('')}`}const response = await fetch(${quote}${url.replaceAll('{', '${')}${quote}, {
  ${options.join(',\n').replaceAll('\n', '\n  ')},
});
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`);
${request.answersJson ? 'const data = await response.json();\n' : ''}`;
};

/** `$` begins an expression in both kinds of Kotlin strings. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template in the sample
const kotlinText = (text: string): string => text.replaceAll('$', "${'$'}");

const kotlinBody = ({ json, form, method }: Request): string | undefined => {
  if (form !== undefined) {
    const parts = form.map(([name, value]) =>
      name === 'file'
        ? `.addFormDataPart("file", file.name, file.asRequestBody())`
        : `.addFormDataPart("${name}", ${kotlinText(JSON.stringify(value))})`,
    );
    return ['MultipartBody.Builder()', '.setType(MultipartBody.FORM)', ...parts, '.build()'].join('\n    ');
  }
  if (json === undefined) return method === 'post' || method === 'put' ? '"".toRequestBody()' : undefined;
  const text = kotlinText(JSON.stringify(json, null, 2));
  return `"""\n${text}\n""".toRequestBody("application/json".toMediaType())`;
};

/** The sample in Kotlin, for OkHttp 4 and 5. */
const kotlin = (request: Request): string => {
  const body = kotlinBody(request);
  const imports = [
    ['okhttp3.MediaType.Companion.toMediaType', '.toMediaType('],
    ['okhttp3.MultipartBody', 'MultipartBody.'],
    ['okhttp3.OkHttpClient', ''],
    ['okhttp3.Request', ''],
    ['okhttp3.RequestBody.Companion.asRequestBody', '.asRequestBody('],
    ['okhttp3.RequestBody.Companion.toRequestBody', '.toRequestBody('],
    ...(request.takesKey ? [['java.util.UUID', '']] : []),
  ].filter(([, use = '']) => use === '' || body?.includes(use) === true);
  const steps = [
    `.url("${request.url.replaceAll('{', '${')}")`,
    ...(request.needsToken ? ['.header("Authorization", "Bearer $token")'] : []),
    ...(request.takesKey ? ['.header("Idempotency-Key", idempotencyKey)'] : []),
    `.${request.method}(${body === undefined ? '' : 'body'})`,
    '.build()',
  ];
  return `${imports.map(([name]) => `import ${name}\n`).join('')}
${request.takesKey ? `// ${KEY_COMMENT}\nval idempotencyKey = UUID.randomUUID().toString()\n` : ''}${body === undefined ? '' : `val body = ${body}\n`}val request = Request.Builder()
    ${steps.join('\n    ')}
OkHttpClient().newCall(request).execute().use { response ->
    check(response.isSuccessful) { "\${response.code}: \${response.body?.string()}" }
${request.answersJson ? '    println(response.body?.string())\n' : ''}}
`;
};
