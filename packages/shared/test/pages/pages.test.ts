/** The frame of all pages, and the files that they load. */
import { translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { addPageAssets } from '@fitness/shared/pages/assets.ts';
import { html } from '@fitness/shared/pages/html.ts';
import { renderPage } from '@fitness/shared/pages/page.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Fastify from 'fastify';

const app = Fastify();
beforeAll(async () => {
  addPageAssets(app);
  await app.ready();
});
afterAll(() => app.close());

const plain = (locale: string) => renderPage({ locale, title: '<Title>', body: html`<p>Text</p>` });

describe.each(['en', 'fa'])('a page in %s', (locale) => {
  test('a page names its language and direction, and escapes its title', () => {
    const page = plain(locale);
    expect(page.status).toBe(200);
    expect(page.html).toContain(`<html lang="${locale}" dir="${translate(locale, 'language.direction')}">`);
    expect(page.html).toContain('<title>&lt;Title&gt;</title>');
    expect(page.html).toContain('<h1>&lt;Title&gt;</h1>');
    expect(page.headers['content-language']).toBe(locale);
  });

  test('a page has no inline script or style, and loads nothing from other origins', () => {
    expect(plain(locale).html).not.toMatch(/<script|<style|\sstyle=|\son\w+=|https?:/);
  });
});

describe('the content security policy', () => {
  test('the policy allows no scripts, no frames, and forms to this origin only', () => {
    expect(plain('en').headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
  });

  test('the policy of a page with a script allows files of this origin, and names its form targets', () => {
    const page = renderPage({
      locale: 'en',
      title: 'T',
      body: html``,
      script: '/live.js',
      formTargets: ['https://shop.test'],
    });
    expect(page.html).toContain('<script src="/live.js" defer></script>');
    const policy = page.headers['content-security-policy'];
    expect(policy).toContain("; script-src 'self'; connect-src 'self'; ");
    expect(policy).toContain("; form-action 'self' https://shop.test; ");
    expect(policy).not.toContain('unsafe');
  });
});

describe('the files', () => {
  const linked = () =>
    [...plain('fa').html.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, url = '']) => url);

  test('linked files are served with their types, and browsers may cache them', async () => {
    const types = [];
    for (const url of linked()) {
      const { statusCode, headers } = await app.inject({ url });
      expect(statusCode).toBe(200);
      expect(headers['cache-control']).toContain('max-age=');
      expect(headers['x-content-type-options']).toBe('nosniff');
      types.push(headers['content-type']);
    }
    expect(types).toEqual(['image/svg+xml', 'text/css; charset=utf-8']);
  });

  test('the style sheet loads the Persian font from beside itself, and nothing from elsewhere', async () => {
    const style = (await app.inject({ url: '/assets/pages.css' })).body;
    const urls = [...style.matchAll(/url\("([^"]+)"\)/g)].map(([, url = '']) => url);
    expect(urls).toEqual(['vazirmatn.woff2']);
    expect(style).not.toMatch(/@import|https?:/);
    const font = await app.inject({ url: `/assets/${urls[0]}` });
    expect(font.headers['content-type']).toBe('font/woff2');
    expect(font.rawPayload.subarray(0, 4).toString()).toBe('wOF2');
    expect(font.rawPayload.length).toBeLessThan(60_000);
  });

  test('the style sheet has no physical direction, which right-to-left would have to undo', async () => {
    const style = (await app.inject({ url: '/assets/pages.css' })).body.replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(style).not.toMatch(
      /(?:^|[\s;{])(?:left|right|(?:margin|padding|border)-(?:left|right|top|bottom)|float|(?:min-|max-)?(?:width|height))\s*:/,
    );
    expect(style).not.toMatch(/text-align:\s*(?:left|right)/);
  });
});
