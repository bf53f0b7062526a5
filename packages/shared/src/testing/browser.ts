/**
 * A browser without scripts for tests: it keeps cookies by path and reads the form of a page. It follows no redirect by
 * itself.
 */

export interface BrowserPage {
  status: number;
  headers: Headers;
  /** Each no-break space is replaced by a space: people read both the same way. */
  html: string;
  /** The absolute target of a redirect. */
  location: URL | undefined;
}

export interface Browser {
  get(url: string, headers?: Record<string, string>): Promise<BrowserPage>;
  post(url: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<BrowserPage>;
  /** Follows redirects to a page or to another origin. */
  follow(page: BrowserPage): Promise<BrowserPage>;
  /** Submits the form of the page with its hidden fields by the named button. */
  submit(
    page: BrowserPage,
    action: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<BrowserPage>;
  cookies: Map<string, { value: string; path: string }>;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const fromEntities = (text: string): string =>
  text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (e) => ENTITIES[e] ?? e);

/** The action and the fields of a form. */
export const formOf = (
  html: string,
): { action: string; fields: Record<string, string>; buttons: string[] } => {
  const action = /<form method="post" action="([^"]*)">/.exec(html)?.[1];
  if (action === undefined) throw new Error(`a page without a form: ${html}`);
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const buttons = [...html.matchAll(/<button name="action" value="([^"]*)"/g)].map(([, name]) => name ?? '');
  return {
    action: fromEntities(action),
    fields: Object.fromEntries(hidden.map(([, name, value]) => [name, fromEntities(value ?? '')])),
    buttons,
  };
};

/** `headers` are sent with every request; `origin` is the base of relative URLs. */
export const createBrowser = (
  origin: string,
  headers: () => Promise<Record<string, string>> = async () => ({}),
): Browser => {
  const cookies: Browser['cookies'] = new Map();

  const remember = (line: string): void => {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const at = pair.indexOf('=');
    const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice('path='.length) ?? '/';
    const name = pair.slice(0, at);
    const gone = attributes.some((attribute) => /^expires=Thu, 01 Jan 1970/i.test(attribute));
    if (gone) cookies.delete(`${name} ${path}`);
    else cookies.set(`${name} ${path}`, { value: pair.slice(at + 1), path });
  };

  const cookieHeader = (path: string): string =>
    [...cookies]
      .filter(([, cookie]) => path === cookie.path || path.startsWith(cookie.path.replace(/\/?$/, '/')))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');

  const send = async (url: URL, init: RequestInit, extra: Record<string, string>): Promise<BrowserPage> => {
    const cookie = cookieHeader(url.pathname);
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        ...(await headers()),
        ...(cookie === '' ? {} : { cookie }),
        ...(init.headers as Record<string, string> | undefined),
        ...extra,
      },
    });
    for (const line of response.headers.getSetCookie()) remember(line);
    const location = response.headers.get('location');
    return {
      status: response.status,
      headers: response.headers,
      html: (await response.text()).replaceAll('\u00a0', ' '),
      location: location === null ? undefined : new URL(location, url),
    };
  };

  /** The same path at `origin`: a service redirects to the origin of its gateway, which a service test does not have. */
  const atOrigin = (url: URL): URL => new URL(`${url.pathname}${url.search}`, origin);

  const browser: Browser = {
    cookies,
    get: (url, extra = {}) => send(new URL(url, origin), {}, extra),
    post: (url, fields, extra = {}) =>
      send(
        new URL(url, origin),
        {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'null' },
          body: new URLSearchParams(fields).toString(),
        },
        extra,
      ),
    follow: async (page) => {
      let next = page;
      while (next.location?.pathname.startsWith('/oauth/') === true)
        next = await browser.get(atOrigin(next.location).href);
      return next;
    },
    submit: (page, action, fields = {}, extra = {}) => {
      const form = formOf(page.html);
      return browser.post(form.action, { ...form.fields, ...fields, action }, extra);
    },
  };
  return browser;
};
