/** The files that every page needs, served by the process behind the page's origin. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const FONT = '@fontsource-variable/vazirmatn/files/vazirmatn-arabic-wght-normal.woff2';

interface Asset {
  path: string;
  type: string;
  content: Buffer;
}

const asset = (name: string, type: string, url: string): Asset => ({
  path: `/assets/${name}`,
  type,
  content: readFileSync(new URL(url, import.meta.url)),
});

const STYLE = asset('pages.css', 'text/css; charset=utf-8', './pages.css');
const ICON = asset('icon.svg', 'image/svg+xml', './icon.svg');
/** The style sheet names it relative to itself. It contains only the Arabic subset: Latin text uses the system's font. */
const PERSIAN_FONT = asset('vazirmatn.woff2', 'font/woff2', import.meta.resolve(FONT));

/** A release with different content has a different address, so no browser shows the old one. */
const versioned = ({ path, content }: Asset): string =>
  `${path}?v=${createHash('sha256').update(content).digest('hex').slice(0, 8)}`;

export const STYLE_URL = versioned(STYLE);
export const ICON_URL = versioned(ICON);

export const addPageAssets = (app: FastifyInstance): void => {
  for (const { path, type, content } of [STYLE, ICON, PERSIAN_FONT]) {
    app.get(path, { schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({
          'cache-control': 'public, max-age=86400',
          // The policy for an SVG that is opened as a document.
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
          'x-content-type-options': 'nosniff',
        })
        .type(type)
        .send(content),
    );
  }
};
