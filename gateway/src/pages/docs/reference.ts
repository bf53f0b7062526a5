/** The HTTP API reference, which Scalar renders. Its script comes from its npm package. */
import { ICON_URL } from '@fitness/shared/pages/assets.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

export interface DemoAccount {
  username: string;
  password: string;
}

/** Reads the script by serving it once, because the plugin does not export it. The plugin's own page would need inline scripts. */
export const readScalar = async (): Promise<string> => {
  const app = Fastify();
  await app.register(scalar, { routePrefix: '/reference', configuration: { url: '/' } });
  const { statusCode, body } = await app.inject('/reference/js/scalar.js');
  await app.close();
  if (statusCode !== 200) throw new Error('the script of the reference is missing');
  return body;
};

/** `links` lead to the other pages of the documentation. */
export const referencePage = (links: Html, nonce: string): string =>
  html`<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" nonce="${nonce}" content="${nonce}">
<title>Fitness platform API</title>
<link rel="icon" type="image/svg+xml" href="${ICON_URL}">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<header id="bar"><nav><ul>
${links}</ul></nav><div id="demo" hidden></div></header>
<div id="reference"></div>
<script src="/docs/nonce.js"></script>
<script src="/docs/scalar.js"></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`.toString();

/** Gives every created style element the nonce, because Scalar does so for only one of them. Parsed HTML does not pass through it. */
export const NONCE_SCRIPT = `const { nonce } = document.querySelector('meta[property=csp-nonce]');
const create = document.createElement;
document.createElement = function (name, options) {
  const element = create.call(this, name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};
`;

/** Leaves samples for curl, `fetch`, OkHttp in Kotlin, and URLSession. */
const HIDDEN_CLIENTS = {
  shell: ['httpie', 'wget'],
  js: ['axios', 'jquery', 'ofetch', 'xhr'],
  ...Object.fromEntries(
    'c clojure csharp dart fsharp go http java julia node objc ocaml php powershell python r ruby rust'
      .split(' ')
      .map((language) => [language, true]),
  ),
};

const CONFIGURATION = {
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  hiddenClients: HIDDEN_CLIENTS,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
};

interface ScriptOptions {
  documentUrl: string;
  demoAccounts: readonly DemoAccount[];
}

/** Shows the document. Each demo account has a button that signs in and passes the token to the reference. */
export const initializeScript = ({ documentUrl, demoAccounts }: ScriptOptions): string =>
  `const accounts = ${JSON.stringify(demoAccounts)};
const configuration = ${JSON.stringify(CONFIGURATION)};
const withToken = (content, token) => ({
  ...configuration,
  content,
  authentication: { preferredSecurityScheme: 'bearer', securitySchemes: { bearer: { token } } },
});
const bar = document.getElementById('demo');
const addAccounts = (signIn) => {
  if (accounts.length === 0) return;
  bar.hidden = false;
  bar.append('Try the requests with a demo account:');
  for (const account of accounts) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = account.username;
    button.title = 'Password: ' + account.password;
    button.setAttribute('aria-pressed', 'false');
    button.addEventListener('click', () => signIn(account, button));
    bar.append(button);
  }
};
const show = async () => {
  const read = await fetch(${JSON.stringify(documentUrl)});
  const content = await read.json();
  if (!read.ok) return alert(content.message);
  const reference = Scalar.createApiReference('#reference', withToken(content, ''));
  addAccounts(async ({ username, password }, button) => {
    const signedIn = await fetch('/api/v1/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login: username, password }),
    });
    const { token, message } = await signedIn.json();
    if (token === undefined) return alert(message);
    reference.updateConfiguration(withToken(content, token));
    for (const other of bar.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button));
  });
};
const shown = show();
`;
