/**
 * A collection of Bruno: a folder for each tag, a file for each operation. Its texts are in blocks whose lines are indented, so
 * that no text of the document can end one.
 */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** @param {string} text */
const indent = (text) => text.replaceAll(/^(?=.)/gm, '  ');

/** @param {string} name @param {string} content */
const block = (name, content) => `${name} {\n${indent(content)}\n}\n`;

/** @param {string} text on one line, as values of a block are */
const oneLine = (text) => text.replaceAll(/\s+/g, ' ').trim();

/** @param {any} parameter @returns {string} a value that the schema allows, or nothing */
const sampleOf = ({ schema, example }) =>
  String(example ?? schema?.default ?? schema?.enum?.[0] ?? (schema?.type === 'integer' ? 1 : ''));

/**
 * @param {string} kind
 * @param {any[]} parameters
 */
function parameterBlock(kind, parameters) {
  const lines = parameters.map((one) => {
    // Bruno does not send a line that starts with ~: what is optional is there to be switched on.
    const prefix = one.required === true ? '' : '~';
    return `${prefix}${one.name}: ${sampleOf(one)}`;
  });
  return lines.length === 0 ? [] : [block(kind, lines.join('\n'))];
}

/** @param {any} requestBody @returns {{ mode: string, text?: string }} */
function bodyOf(requestBody) {
  const [[mediaType, media] = []] = Object.entries(requestBody?.content ?? {});
  if (mediaType === undefined) return { mode: 'none' };
  if (mediaType === 'application/json')
    return { mode: 'json', text: block('body:json', JSON.stringify(media.example ?? {}, null, 2)) };
  const fields = Object.entries(media.example ?? {}).map(([name, value]) =>
    name === 'file' ? `${name}: @file()` : `${name}: ${oneLine(String(value))}`,
  );
  return { mode: 'multipartForm', text: block('body:multipart-form', fields.join('\n')) };
}

/**
 * @param {{ method: string, path: string, operation: any, sequence: number }} request
 * @returns {string} a file of Bruno
 */
function requestFile({ method, path, operation, sequence }) {
  const { summary, description, parameters = [], requestBody, operationId } = operation;
  const placed = (/** @type {string} */ place) =>
    parameters.filter((/** @type {any} */ one) => one.in === place);
  const { mode, text } = bodyOf(requestBody);
  const url = `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
  const isLogin = operationId === 'postAuthLogin';
  return [
    block('meta', `name: ${oneLine(summary)}\ntype: http\nseq: ${sequence}`),
    block(method, `url: ${url}\nbody: ${mode}\nauth: ${isLogin ? 'none' : 'inherit'}`),
    ...parameterBlock('params:query', placed('query')),
    ...parameterBlock('params:path', placed('path')),
    ...parameterBlock('headers', placed('header')),
    ...(text === undefined ? [] : [text]),
    // The following requests are made as whoever has logged in.
    ...(isLogin
      ? [block('script:post-response', "if (res.status === 200) bru.setEnvVar('token', res.body.token);")]
      : []),
    block('docs', description ?? summary),
  ].join('\n');
}

/**
 * @param {any} document OpenAPI
 * @returns {Map<string, string>} the contents of the files by their paths
 */
export function brunoCollection(document) {
  const files = new Map([
    [
      'bruno.json',
      `${JSON.stringify({ version: '1', name: document.info.title, type: 'collection' }, null, 2)}\n`,
    ],
    ['collection.bru', `${block('auth', 'mode: bearer')}\n${block('auth:bearer', 'token: {{token}}')}`],
    [
      'environments/local.bru',
      `${block('vars', 'baseUrl: http://localhost:8080')}vars:secret [\n  token\n]\n`,
    ],
  ]);
  let sequence = 0;
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations).filter(([name]) => METHODS.includes(name))) {
      sequence += 1;
      files.set(
        `${operation.tags[0]}/${operation.operationId}.bru`,
        requestFile({ method, path, operation, sequence }),
      );
    }
  return files;
}
