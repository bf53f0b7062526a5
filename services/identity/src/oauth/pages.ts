/**
 * The sign-in and consent pages: plain forms without scripts. A submitted form can lead only to this origin and to the
 * client's redirect URI.
 */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, type Translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { alertOf, type Input, inputsOf } from '@fitness/shared/pages/form.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { destinationOf, isPrivateUse } from '../domain/oauth-client.ts';

interface ShownClient {
  name: string | undefined;
  redirectUri: string;
}

export interface FormState {
  locale: Locale;
  client: ShownClient;
  /** The path that the form is posted to, including its language. A GET shows the page again. */
  action: string;
  csrf: string;
}

/** Names only the scheme for an IPv6 address, which a policy cannot contain, and for a private-use URI without an origin. */
const formTarget = (redirectUri: string): string => {
  const { origin, hostname, protocol } = new URL(redirectUri);
  if (isPrivateUse(redirectUri)) return protocol;
  return hostname.startsWith('[') ? 'http:' : origin;
};

/** A page with a form for `state`. */
const formPage = (
  { locale, client, action }: FormState,
  { title, body, status }: { title: Message; body: Html; status?: number | undefined },
): Page =>
  renderPage({
    locale,
    status,
    title: translator(locale)(title),
    aside: languageLinks(locale, action),
    body,
    formTargets: [formTarget(client.redirectUri)],
  });

const clientName = ({ name }: Pick<ShownClient, 'name'>, t: Translate): string =>
  isolate(name ?? t(message('oauth.unnamed')));

const form = ({ action, csrf }: FormState, content: Html): Html =>
  html`<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<div class="stack">
${content}
</div>
</form>`;

/** The first button is the page's main action. */
const buttons = (...all: readonly (readonly [value: string, text: string])[]): Html =>
  html`<div class="actions row">
${all.map(([value, text]) => html`<button name="action" value="${value}">${text}</button>\n`)}</div>`;

interface LoginState extends FormState {
  /** The login that was typed in the refused attempt. */
  login?: string | undefined;
  /** `field`: the input that was refused; undefined when the attempt itself was, for example by a limit. */
  problem?: { status: number; text: Message; field: 'login' | 'password' | 'totp' | undefined } | undefined;
  /** True after a correct password, which must be typed again because it is not kept. */
  asksForCode?: boolean;
}

export const loginPage = (state: LoginState): Page => {
  const { locale, client, login, problem, asksForCode = false } = state;
  const t = translator(locale);
  const name = clientName(client, t);
  const refused = problem === undefined ? [] : [t(problem.text)];
  const inputs: Input[] = [
    {
      name: 'login',
      label: t(message('oauth.login.login')),
      autocomplete: 'username',
      maxLength: 254,
      value: login,
    },
    {
      name: 'password',
      label: t(message('oauth.login.password')),
      autocomplete: 'current-password',
      type: 'password',
    },
    ...(asksForCode
      ? [
          {
            name: 'totp',
            label: t(message('oauth.login.code')),
            autocomplete: 'one-time-code',
            maxLength: 100,
          },
        ]
      : []),
  ];
  const fields = html`${inputsOf(inputs.map((input) => (input.name === problem?.field ? { ...input, refused } : input)))}
${buttons(['login', t(message('oauth.login.submit'))], ['cancel', t(message('oauth.cancel'))])}`;
  return formPage(state, {
    status: problem?.status,
    title: message('oauth.login.title', { client: name }),
    body: html`<section class="card">
<p>${t(message('oauth.login.lead', { client: name }))}</p>
${problem !== undefined && problem.field === undefined && alertOf(t(problem.text))}
${form(state, fields)}
</section>`,
  });
};

interface ConsentState extends FormState {
  username: string;
  permissions: readonly Permission[];
}

/** Actions that require one of the permissions (docs/access.md). */
const WITHHELD: readonly (readonly [text: Message, permissions: readonly Permission[]])[] = [
  [message('oauth.cannot.see_money'), ['payments.view_own', 'payments.view_all']],
  [message('oauth.cannot.spend'), ['payments.buy_premium', 'payments.boost_own', 'payments.boost_all']],
  [
    message('oauth.cannot.publish'),
    [
      'gyms.create',
      'gyms.update',
      'gyms.update_any',
      'gyms.transfer_ownership',
      'gyms.approve_license',
      'posts.create',
      'posts.update_any',
      'training_services.create',
      'training_services.update_any',
    ],
  ],
];

/** Actions that no third-party token allows. */
const NEVER: readonly Message[] = [
  message('oauth.cannot.move_money'),
  message('oauth.cannot.credentials'),
  message('oauth.cannot.delete'),
];

const list = (kind: 'can' | 'cannot', items: readonly string[]): Html =>
  html`<ul class="${kind}" role="list">
${items.map((item) => html`<li>${item}</li>\n`)}</ul>`;

export const consentPage = (state: ConsentState): Page => {
  const { locale, client, username, permissions } = state;
  const t = translator(locale);
  const name = clientName(client, t);
  const allowed = [
    message('oauth.consent.profile'),
    ...permissions.map((permission) => message(`oauth.scope.${permission}` as Message['key'])),
  ];
  const withheld = WITHHELD.filter(([, opening]) => !opening.some((each) => permissions.includes(each)));
  const host = isolate(destinationOf(client.redirectUri));
  return formPage(state, {
    title: message('oauth.consent.title', { client: name }),
    body: html`<section class="card">
<p class="notice waiting">${t(message('oauth.consent.destination', { host }))}</p>
<p>${t(message('oauth.consent.account', { username: isolate(username) }))}</p>
<h2>${t(message('oauth.consent.lead', { client: name }))}</h2>
${list('can', allowed.map(t))}
<h2>${t(message('oauth.consent.not_lead', { client: name }))}</h2>
${list('cannot', [...withheld.map(([text]) => text), ...NEVER].map(t))}
<p class="quiet">${t(message('oauth.consent.until'))}</p>
${form(
  state,
  buttons(['allow', t(message('oauth.consent.allow'))], ['cancel', t(message('oauth.consent.deny'))]),
)}
</section>`,
  });
};

/** An OAuth error code, folded: it tells the user nothing. */
const codeDetails = (t: Translate, code: string): Html =>
  html`<details><summary>${t(message('oauth.refused.code'))}</summary><p><bdi dir="ltr" class="code">${code}</bdi></p></details>`;

/**
 * Shown before the user has signed in, instead of a redirect to the client. `to`: the client's address with the error, which
 * the page links to. `path`: shows the page again; undefined if it cannot be shown again. `name`: of the client.
 */
export const leavePage = (
  locale: Locale,
  { to, path, name }: { to: string; path: string | undefined; name: string | undefined },
): Page => {
  const t = translator(locale);
  const client = clientName({ name }, t);
  const { search, hash } = new URL(to);
  const code = new URLSearchParams(search).get('error') ?? new URLSearchParams(hash.slice(1)).get('error');
  const isChosen = code === 'access_denied';
  const host = isolate(destinationOf(to));
  return renderPage({
    locale,
    status: isChosen ? 200 : 400,
    title: t(isChosen ? message('oauth.left.title') : message('oauth.refused.client', { client })),
    aside: path === undefined ? undefined : languageLinks(locale, path),
    body: html`<section class="card">
<p>${t(isChosen ? message('oauth.left.body', { client }) : message('oauth.refused.client.body', { client }))}</p>
<p class="notice waiting">${t(message('oauth.leave.notice', { host, client }))}</p>
<p class="row"><a class="button" rel="noreferrer" href="${to}">${t(message('oauth.leave.go', { host }))}</a></p>
${!isChosen && code !== null && codeDetails(t, code)}
</section>`,
  });
};

/** Shown while the deletion of the account is pending, because no app is granted access then. */
export const pendingPage = (state: FormState & { scheduledAt: string }): Page => {
  const t = translator(state.locale);
  const values = { deletion_scheduled_at: state.scheduledAt };
  return formPage(state, {
    status: 403,
    title: message('oauth.pending.title'),
    body: html`<section class="card">
<p>${t(message('oauth.pending.body', values))}</p>
${form(state, buttons(['cancel', t(message('oauth.back', { client: clientName(state.client, t) }))]))}
</section>`,
  });
};

interface ProblemPageOptions {
  status: number;
  /** An OAuth error code for the developer of the client; undefined when the page has expired. */
  code?: string | undefined;
  /** Path that shows the page again. A refused authorization request has none: its page repeats no text of strangers. */
  path?: string | undefined;
}

/** Page for a request that cannot continue. */
export const problemPage = (locale: Locale, { status, code, path }: ProblemPageOptions): Page => {
  const t = translator(locale);
  const [title, text] =
    code === undefined
      ? [message('oauth.expired.title'), message('oauth.expired.body')]
      : [message('oauth.refused.title'), message('oauth.refused.body')];
  return renderPage({
    locale,
    status,
    title: t(title),
    aside: path === undefined ? undefined : languageLinks(locale, path),
    body: html`<section class="card"><p>${t(text)}</p>${code !== undefined && codeDetails(t, code)}</section>`,
  });
};
