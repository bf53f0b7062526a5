/** The frame of the pages below `/docs` that this process renders. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (found) => ESCAPES[found] ?? found);

/** `code` in backticks, the rest as text. */
export const inline = (text: string): string =>
  escapeHtml(text).replaceAll(/`([^`]*)`/g, (_match, code: string) => `<code>${code}</code>`);

/** `body` is HTML. */
export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/page.css">
  </head>
  <body>
    <nav><a href="/docs">API</a> <a href="/docs/events">Events</a> <a href="/docs/errors">Errors</a></nav>
    <main>
      <h1>${escapeHtml(title)}</h1>
${body}
    </main>
  </body>
</html>
`;

export const PAGE_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; }
nav a { margin-inline-end: 1rem; }
h2 { margin-block-start: 2.5rem; overflow-wrap: anywhere; }
code, pre { font: 0.875em/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; background: #8881; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; vertical-align: top; padding: 0.375rem 0.75rem 0.375rem 0; border-bottom: 1px solid #8884; }
td[lang='fa'] { direction: rtl; }
`;
