/** HTML by a tagged template. Every value is escaped unless it was made by the template itself. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML that is escaped already. Only {@link html} and {@link renderedHtml} make it. */
class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type { Html };

/** `false`, null and undefined are written as nothing, and a list as its entries in order. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

const render = (value: HtmlValue): string => {
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object' && value !== null) return value.map(render).join('');
  if (value === false || value === null || value === undefined) return '';
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
};

/** Attribute values must stand in double quotes. */
export const html = (strings: TemplateStringsArray, ...values: HtmlValue[]): Html =>
  new Html(strings.reduce((done, text, index) => done + render(values[index - 1]) + text));

/** `text` from a renderer that escapes its input, such as one of Markdown without HTML. */
export const renderedHtml = (text: string): Html => new Html(text);

/** Unicode isolates: the direction of a name does not change the direction of the text around it. */
export const isolate = (text: string): string => `\u2068${text}\u2069`;

/** A name that may break after the dots, slashes and underscores inside it. Copies of it are unchanged. */
export const breakable = (name: string): Html =>
  html`${name.split(/(?<=[\w}][._/])(?=[\w{])/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`;

/** `text` that stays in one line. */
export const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');

/** Keeps each number with the word after it in one line: `5,000 Tooman`. */
export const withUnbrokenAmounts = (text: string): string =>
  text.replaceAll(/(?<=\p{Nd}) (?=\p{L})/gu, '\u00a0');
