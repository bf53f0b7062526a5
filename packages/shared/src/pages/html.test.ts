import { describe, expect, test } from '@jest/globals';
import { breakable, html } from './html.ts';

describe('html', () => {
  test('html escapes every value, including those in attributes and lists', () => {
    const name = `<img src="x" onerror='y'>&`;
    const escaped = '&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;';
    expect(html`<p title="${name}">${[name, [name]]}</p>`.toString()).toBe(
      `<p title="${escaped}">${escaped}${escaped}</p>`,
    );
  });

  test('html does not escape its own results again', () => {
    const item = html`<li>${'<b>'}</li>`;
    expect(html`<ul>${[item, item]}</ul>`.toString()).toBe('<ul><li>&lt;b&gt;</li><li>&lt;b&gt;</li></ul>');
  });

  test('html escapes an object that only looks like its result', () => {
    const forged = JSON.parse('{"text":"<script>"}');
    expect(() => html`${forged}`.toString()).toThrow();
  });

  test('html writes numbers, and nothing for false, null and undefined', () => {
    expect(html`${0}|${false}|${null}|${undefined}`.toString()).toBe('0|||');
  });

  test('a name may break after its dots, slashes and underscores, and nowhere at its end', () => {
    expect(breakable('gyms.gym_deleted.').toString()).toBe('gyms.<wbr>gym_<wbr>deleted.');
    expect(breakable('GET /posts/{id} <b>').toString()).toBe('GET /posts/<wbr>{id} &lt;b&gt;');
  });
});
