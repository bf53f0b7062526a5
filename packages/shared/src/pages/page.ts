/**
 * The frame of every page that people see: one style sheet, no inline script or style, and a content security policy that
 * allows nothing else. The classes are described at the top of `pages.css`.
 */
import { type Locale, translate } from '../kernel/i18n/translate.ts';
import { ICON_URL, STYLE_URL } from './assets.ts';
import { type Html, html } from './html.ts';

export interface Page {
  status: number;
  headers: Record<string, string>;
  html: string;
}

export interface PageOptions {
  locale: Locale;
  /** Default: 200. */
  status?: number | undefined;
  title: string;
  /** Beside the heading, for example links to other languages. */
  aside?: Html | undefined;
  body: Html;
  /** `narrow`: a form or a text; `wide`: lists. */
  width?: 'narrow' | 'wide' | undefined;
  /** Path of a script file of this origin, which may call this origin. Without one the page allows no scripts. */
  script?: string | undefined;
  /** Origins that the script may call besides this one. */
  connectTargets?: readonly string[] | undefined;
  /** Where a submitted form may redirect to, besides this origin: CSP sources such as origins. */
  formTargets?: readonly string[] | undefined;
}

const policyOf = ({ script, connectTargets = [], formTargets = [] }: PageOptions): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    ...(script === undefined
      ? []
      : ["script-src 'self'", ["connect-src 'self'", ...connectTargets].join(' ')]),
    ["form-action 'self'", ...formTargets].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** `reply.code(status).headers(headers).send(html)`. */
export const renderPage = (options: PageOptions): Page => {
  const { locale, status = 200, title, aside, body, width = 'narrow', script } = options;
  const content = html`<!doctype html>
<html lang="${locale}" dir="${translate(locale, 'language.direction')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_URL}">
<link rel="stylesheet" href="${STYLE_URL}">
${script !== undefined && html`<script src="${script}" defer></script>`}
</head>
<body>
<main class="${width}">
<header class="top">
<h1>${title}</h1>
${aside}
</header>
${body}
</main>
</body>
</html>
`;
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-language': locale,
      'content-security-policy': policyOf(options),
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    },
    html: content.toString(),
  };
};
