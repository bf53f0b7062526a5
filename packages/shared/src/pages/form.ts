/**
 * Inputs of a page's form, and the reasons why they were refused. The refused input has the focus when the page opens. Without a
 * script, it is then in view on a phone and read out.
 */
import { type Html, html } from './html.ts';

export interface Input {
  /** The name in the form. Ids of a refused input contain it, so a page has at most one refused input of each name. */
  name: string;
  label: string;
  autocomplete: string;
  type?: 'text' | 'password' | undefined;
  value?: string | undefined;
  inputmode?: 'numeric' | 'tel' | undefined;
  maxLength?: number | undefined;
  /** Whether the value is text in the language of the page, unlike a name or a code. */
  isText?: boolean | undefined;
  /** Whether the text may have several lines. */
  isLong?: boolean | undefined;
  /** The only input of a step. It has the focus when nothing was refused. */
  isFocused?: boolean | undefined;
  /** Why the value was refused. */
  refused?: readonly string[] | undefined;
}

const isRefused = ({ refused = [] }: Input): boolean => refused.length > 0;

/**
 * The reason stands between the label and the input: below the input, the keyboard of a phone or the edge of the window would
 * hide it. It is not a part of the label, so it is read out once.
 */
const refusedInput = (label: string, name: string, reasons: readonly string[], control: Html): Html =>
  html`<div class="refused"><label for="${name}-refused">${label}</label>
<p class="problem" id="${name}-problem">${reasons.join(' ')}</p>
${control}</div>`;

const inputOf = (input: Input, isFocused: boolean): Html => {
  const {
    name,
    label,
    autocomplete,
    type = 'text',
    value,
    inputmode,
    maxLength = 1_000,
    isText,
    isLong,
    refused = [],
  } = input;
  const state =
    isRefused(input) && html` id="${name}-refused" aria-invalid="true" aria-describedby="${name}-problem"`;
  const attributes = html`autocomplete="${autocomplete}" dir="${isText === true ? 'auto' : 'ltr'}" maxlength="${maxLength}"`;
  const control =
    isLong === true
      ? html`<textarea name="${name}" rows="3" ${attributes}${state}${isFocused && html` autofocus`}>\n${value}</textarea>`
      : html`<input name="${name}" type="${type}" autocapitalize="none" ${attributes} value="${value}"${inputmode !== undefined && html` inputmode="${inputmode}"`}${state}${isFocused && html` autofocus`}>`;
  return isRefused(input)
    ? refusedInput(label, name, refused, control)
    : html`<label>${label}\n${control}</label>`;
};

/** The inputs of one form. The first refused one has the focus, else the one that is marked. */
export const inputsOf = (inputs: readonly Input[]): Html => {
  const focused = inputs.find(isRefused) ?? inputs.find((input) => input.isFocused === true);
  return html`${inputs.map((input) => html`${inputOf(input, input === focused)}\n`)}`;
};

/** A refusal that belongs to no input of the page. One element of a page has the focus. */
export const alertOf = (text: string, isFocused = true): Html =>
  html`<p class="problem" role="alert" tabindex="-1"${isFocused && html` autofocus`}>${text}</p>`;
