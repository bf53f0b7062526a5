/** The HTTP API reference, which Scalar renders. Its script comes from its npm package. */
import { type Locale, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { ICON_URL } from '@fitness/shared/pages/assets.ts';
import { html } from '@fitness/shared/pages/html.ts';
import { inLanguage } from '@fitness/shared/pages/languages.ts';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';
import { docsLinks } from './page.ts';
import { SCALAR_TEXTS } from './scalar-texts.ts';

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

export const referencePage = (locale: Locale, nonce: string): string => {
  const direction = translate(locale, 'language.direction');
  return html`<!doctype html>
<html lang="${locale}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" nonce="${nonce}" content="${nonce}">
<title>${translate(locale, 'docs.title')}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_URL}">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<header id="bar">${docsLinks(locale, '/docs')}<div id="demo" hidden></div></header>
<div id="reference" dir="ltr"></div>
<script src="/docs/nonce.js"></script>
<script src="/docs/scalar.js"></script>
<script src="/docs/reference.js?lang=${locale}"></script>
</body>
</html>
`.toString();
};

/** Gives every created style element the nonce, because Scalar does so for only one of them. Parsed HTML does not pass through it. */
export const NONCE_SCRIPT = `const { nonce } = document.querySelector('meta[property=csp-nonce]');
const create = document.createElement;
document.createElement = function (name, options) {
  const element = create.call(this, name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};
`;

export const REFERENCE_STYLE = `@font-face { font-family: Vazirmatn; src: url("/assets/vazirmatn.woff2") format("woff2"); font-weight: 100 900; font-display: swap; unicode-range: U+0600-06FF, U+0750-077F, U+200C-200F, U+FB50-FDFF, U+FE70-FEFC; }
:root { --scalar-font: Vazirmatn, system-ui, sans-serif; }
body { margin: 0; }
#reference :is(h1, h2, p) { unicode-bidi: plaintext; text-align: start; }
#bar { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.5rem 1.5rem; padding: 0.5rem 1rem; font: 14px/1.6 var(--scalar-font); border-bottom: 1px solid #8884; }
#bar a { color: #0b63b8; }
#bar nav, #bar .row, #demo { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
#demo[hidden] { display: none; }
#demo button { font: inherit; padding: 0 0.75rem; border: 1px solid #8888; border-radius: 4px; background: none; color: inherit; cursor: pointer; }
#demo button[aria-pressed='true'] { background: #0b63b8; border-color: #0b63b8; color: #fff; }
.dark-mode #bar { background: #0f0f0f; color: #e7e7e7; }
.dark-mode #bar a { color: #7db8f5; }
`;

/** Hides all sample clients of Scalar except curl and URLSession. The document itself contains the TypeScript and Kotlin samples. */
const HIDDEN_CLIENTS = {
  shell: ['httpie', 'wget'],
  ...Object.fromEntries(
    'c clojure csharp dart fsharp go http java js julia kotlin node objc ocaml php powershell python r ruby rust'
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
  locale: Locale;
  documentUrl: string;
  demoAccounts: readonly DemoAccount[];
}

/** Shows the document in the language of the page. Each demo account has a button that signs in and passes the token to the reference. */
export const initializeScript = ({ locale, documentUrl, demoAccounts }: ScriptOptions): string => {
  const configuration = {
    ...CONFIGURATION,
    // The document, its code and its schemas read from left to right in every language.
    localization: { locale, direction: 'ltr', translations: SCALAR_TEXTS[locale] ?? {} },
  };
  const accounts = demoAccounts.map(({ username, password }) => {
    const title = translate(locale, 'docs.password', { password });
    return { username, password, title };
  });
  return `const accounts = ${JSON.stringify(accounts)};
const configuration = ${JSON.stringify(configuration)};
const withToken = (content, token) => ({
  ...configuration,
  content,
  authentication: { preferredSecurityScheme: 'bearer', securitySchemes: { bearer: { token } } },
});
const bar = document.getElementById('demo');
const addAccounts = (signIn) => {
  if (accounts.length === 0) return;
  bar.hidden = false;
  bar.append(${JSON.stringify(translate(locale, 'docs.demo'))});
  for (const account of accounts) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = account.username;
    button.title = account.title;
    button.setAttribute('aria-pressed', 'false');
    button.addEventListener('click', () => signIn(account, button));
    bar.append(button);
  }
};
const show = async () => {
  const read = await fetch(${JSON.stringify(inLanguage(locale, documentUrl))});
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
};
