/** The reference of the HTTP API: Scalar, from the files of its package. */
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

export interface DemoAccount {
  username: string;
  password: string;
}

/** The plugin holds the script and has no other way to it; its own page would need inline scripts. */
export const readScalar = async (): Promise<string> => {
  const holder = Fastify();
  await holder.register(scalar, { routePrefix: '/reference', configuration: { url: '/' } });
  const { statusCode, body } = await holder.inject('/reference/js/scalar.js');
  await holder.close();
  if (statusCode !== 200) throw new Error('the script of the reference is missing');
  return body;
};

export const referencePage = (nonce: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" nonce="${nonce}" content="${nonce}">
    <title>Fitness platform API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/reference.css">
  </head>
  <body>
    <header id="demo" hidden></header>
    <div id="reference"></div>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/reference.js"></script>
  </body>
</html>
`;

export const REFERENCE_STYLE = `body { margin: 0; }
#demo { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.5rem 1rem; font: 14px system-ui, sans-serif; border-bottom: 1px solid #8884; }
#demo[hidden] { display: none; }
#demo button { font: inherit; padding: 0.25rem 0.75rem; border: 1px solid #8888; border-radius: 4px; background: none; color: inherit; cursor: pointer; }
#demo button[aria-pressed='true'] { background: #1666d0; border-color: #1666d0; color: #fff; }
.dark-mode #demo { background: #0f0f0f; color: #e7e7e7; }
`;

/** Clients of Scalar other than curl, OkHttp for Kotlin and URLSession for Swift. The samples in TypeScript are in the document. */
const HIDDEN_CLIENTS = {
  shell: ['httpie', 'wget'],
  ...Object.fromEntries(
    'c clojure csharp dart fsharp go http java js node objc ocaml php powershell python r ruby rust'
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

/** A button for each demo account signs in, and gives the token to the reference. */
export const initialiseScript = ({
  documentUrl,
  demoAccounts,
}: {
  documentUrl: string;
  demoAccounts: readonly DemoAccount[];
}): string => `const configuration = ${JSON.stringify({ url: documentUrl, ...CONFIGURATION })};
const accounts = ${JSON.stringify(demoAccounts)};
const withToken = (token) => ({
  ...configuration,
  authentication: { preferredSecurityScheme: 'bearer', securitySchemes: { bearer: { token } } },
});
const reference = Scalar.createApiReference('#reference', withToken(''));
const bar = document.getElementById('demo');
const signIn = async ({ username, password }, button) => {
  const answer = await fetch('/api/v1/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: username, password }),
  });
  const { token, message } = await answer.json();
  if (token === undefined) return alert(message);
  reference.updateConfiguration(withToken(token));
  for (const other of bar.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button));
};
if (accounts.length > 0) {
  bar.hidden = false;
  bar.append('Try the requests as a demo account:');
  for (const account of accounts) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = account.username;
    button.title = 'Password: ' + account.password;
    button.setAttribute('aria-pressed', 'false');
    button.addEventListener('click', () => signIn(account, button));
    bar.append(button);
  }
}
`;
