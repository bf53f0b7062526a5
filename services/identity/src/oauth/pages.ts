/**
 * The sign-in and consent pages. They are plain HTML forms: the content security policy allows no scripts, no framing,
 * and no form target except this origin and the client's redirect URI.
 */
import { createHash } from 'node:crypto';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, type Translate, translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { destinationOf, isPrivateUse } from '../domain/oauth-client.ts';

export interface Page {
  status: number;
  html: string;
  headers: Record<string, string>;
}

interface PageOptions {
  locale: Locale;
  status?: number;
  title: Message;
  /** Escaped HTML. */
  body: string;
  /** Where a form submission may redirect to, besides this origin. */
  redirectUri?: string | undefined;
}

interface ShownClient {
  name: string | undefined;
  redirectUri: string;
}

export interface FormState {
  locale: Locale;
  client: ShownClient;
  /** The path that the form is posted to. */
  action: string;
  csrf: string;
}

const STYLE = `
:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,"Vazirmatn","Noto Sans Arabic",sans-serif;max-width:26rem;margin:8vh auto;padding:0 1.25rem}
h1{font-size:1.35rem;overflow-wrap:anywhere}
label{display:block;margin-top:1rem}
input{box-sizing:border-box;width:100%;font:inherit;padding:.5rem}
button{font:inherit;padding:.5rem 1.25rem;margin:1.25rem 0 0;margin-inline-end:.75rem}
.error{border-inline-start:.25rem solid #c22;padding-inline-start:.75rem}
.note{opacity:.8}
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** A content security policy cannot name an IPv6 address, and a private-use scheme has no origin: the scheme is named. */
const formTarget = (redirectUri: string): string => {
  const { origin, hostname, protocol } = new URL(redirectUri);
  if (isPrivateUse(redirectUri)) return protocol;
  return hostname.startsWith('[') ? 'http:' : origin;
};

const policyOf = (redirectUri: string | undefined): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action 'self'${redirectUri === undefined ? '' : ` ${formTarget(redirectUri)}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const page = ({ locale, status = 200, title, body, redirectUri }: PageOptions): Page => {
  const heading = escapeHtml(translator(locale)(title));
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-language': locale,
      'content-security-policy': policyOf(redirectUri),
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    },
    html: `<!doctype html>
<html lang="${locale}" dir="${translate(locale, 'language.direction')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${heading}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${body}
</main>
</body>
</html>
`,
  };
};

/** Unicode isolates: the direction of a name does not change the direction of the text around it. */
const isolate = (text: string): string => `\u2068${text}\u2069`;

const clientName = ({ name }: ShownClient, t: Translate): string =>
  isolate(name ?? t(message('oauth.unnamed')));

const form = (
  { action, csrf }: FormState,
  content: string,
): string => `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
${content}
</form>`;

const button = (value: string, text: string): string =>
  `<button name="action" value="${value}">${escapeHtml(text)}</button>`;

const paragraph = (text: string, kind?: 'error' | 'note'): string =>
  `<p${kind === undefined ? '' : ` class="${kind}"`}${kind === 'error' ? ' role="alert"' : ''}>${escapeHtml(text)}</p>`;

interface LoginState extends FormState {
  /** What the person typed in the refused attempt. */
  login?: string | undefined;
  problem?: { status: number; text: Message } | undefined;
  /** After a right password, which is typed again: it is not kept. */
  asksForCode?: boolean;
}

export const loginPage = (state: LoginState): Page => {
  const { locale, client, login, problem, asksForCode = false } = state;
  const t = translator(locale);
  const name = clientName(client, t);
  const label = (text: Message, input: string): string => `<label>${escapeHtml(t(text))}\n${input}</label>`;
  return page({
    locale,
    status: problem?.status ?? 200,
    redirectUri: client.redirectUri,
    title: message('oauth.login.title', { client: name }),
    body: [
      paragraph(t(message('oauth.login.lead', { client: name }))),
      ...(problem === undefined ? [] : [paragraph(t(problem.text), 'error')]),
      form(
        state,
        [
          label(
            message('oauth.login.login'),
            `<input name="login" autocomplete="username" autocapitalize="none" dir="ltr" maxlength="254" value="${escapeHtml(login ?? '')}">`,
          ),
          label(
            message('oauth.login.password'),
            '<input name="password" type="password" autocomplete="current-password" dir="ltr" maxlength="1000">',
          ),
          ...(asksForCode
            ? [
                label(
                  message('oauth.login.code'),
                  '<input name="totp" autocomplete="one-time-code" autocapitalize="none" dir="ltr" maxlength="100">',
                ),
              ]
            : []),
          button('login', t(message('oauth.login.submit'))),
          button('cancel', t(message('oauth.cancel'))),
        ].join('\n'),
      ),
    ].join('\n'),
  });
};

interface ConsentState extends FormState {
  username: string;
  permissions: readonly Permission[];
}

export const consentPage = (state: ConsentState): Page => {
  const { locale, client, username, permissions } = state;
  const t = translator(locale);
  const name = clientName(client, t);
  const items = [
    t(message('oauth.consent.profile')),
    ...permissions.map((permission) => t(message(`oauth.scope.${permission}` as Message['key']))),
  ];
  const host = isolate(destinationOf(client.redirectUri));
  return page({
    locale,
    redirectUri: client.redirectUri,
    title: message('oauth.consent.title', { client: name }),
    body: [
      paragraph(t(message('oauth.consent.account', { username: isolate(username) }))),
      paragraph(t(message('oauth.consent.lead', { client: name }))),
      `<ul>\n${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('\n')}\n</ul>`,
      paragraph(t(message('oauth.consent.destination', { host })), 'note'),
      form(
        state,
        [
          button('allow', t(message('oauth.consent.allow'))),
          button('cancel', t(message('oauth.consent.deny'))),
        ].join('\n'),
      ),
    ].join('\n'),
  });
};

/** While the deletion of the account is pending, no app is granted access. */
export const pendingPage = (state: FormState & { scheduledAt: string }): Page => {
  const t = translator(state.locale);
  return page({
    locale: state.locale,
    status: 403,
    redirectUri: state.client.redirectUri,
    title: message('oauth.pending.title'),
    body: [
      paragraph(t(message('oauth.pending.body', { deletion_scheduled_at: isolate(state.scheduledAt) }))),
      form(state, button('cancel', t(message('oauth.back')))),
    ].join('\n'),
  });
};

/** A request that cannot be continued; `code` is an OAuth error code for the developer of the client. */
export const problemPage = (locale: Locale, status: number, code?: string): Page => {
  const t = translator(locale);
  const isExpired = code === undefined;
  const texts = isExpired
    ? ([message('oauth.expired.title'), message('oauth.expired.body')] as const)
    : ([message('oauth.refused.title'), message('oauth.refused.body', { code: isolate(code) })] as const);
  return page({ locale, status, title: texts[0], body: paragraph(t(texts[1])) });
};
