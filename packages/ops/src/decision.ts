/**
 * A decision in two steps. The first step shows what will be done. The second one executes it only if nothing that was shown has changed.
 * Otherwise, and for a form that was never shown, the first step is shown again.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import {
  type Button,
  type Field,
  formOf,
  inputsOf,
  missingIn,
  problemOf,
} from '@fitness/shared/pages/views.ts';
import { type Problem, problemIn } from '@fitness/shared/pages/visitor.ts';
import { type Action, type ActionResult, gone, type Operator, pathOf } from './section.ts';

export interface Confirmation {
  title: Message;
  /** What the decision means for the account. */
  lead?: Message;
  /** Names the person, the amount and the account. */
  facts: Html;
  /** Fields of the first form that the second form repeats. */
  repeated: readonly string[];
  /** Everything that must not have changed since it was shown. */
  state: readonly (string | number | null | undefined)[];
  /** A text field. `missing` is the message for an empty field, and is undefined if the text is optional. */
  field?: Pick<Field, 'name' | 'label' | 'missing' | 'apiName' | 'isLong'>;
  /**
   * Set if the decision has already been made. The page says so, without a button. `result` is the response to a
   * second click.
   */
  settled?: { text: Message; result?: ActionResult } | undefined;
  /** Undefined if there is nothing to do. */
  button: { label: Message; isDestructive?: boolean } | undefined;
  back: { query?: string; label: Message };
}

interface Decision<Row> {
  slug: string;
  /** Reads the current state. */
  find(operator: Operator, fields: Fields): Promise<Row | undefined>;
  /** The message if there is no row. */
  missing?: Message;
  confirmation(operator: Operator, row: Row, fields: Fields): Confirmation | Promise<Confirmation>;
  perform(operator: Operator, row: Row, fields: Fields): Promise<ActionResult>;
}

const CONFIRM = 'confirm_';
const SHOWN = 'shown';

/** Signs the session, the decision and the state that was shown. */
const markOf = ({ csrf }: Operator, name: string, { state }: Confirmation): string =>
  createHmac('sha256', csrf)
    .update(JSON.stringify([name, ...state]))
    .digest('base64url');

const isMark = (expected: string, sent: string | undefined): boolean => {
  const [a, b] = [Buffer.from(expected), Buffer.from(sent ?? '')];
  return a.length === b.length && timingSafeEqual(a, b);
};

interface Step {
  name: string;
  slug: string;
  confirmation: Confirmation;
  fields: Fields;
  problem?: Problem | undefined;
  hasChanged?: boolean;
}

const page = (operator: Operator, step: Step): Html => {
  const { locale, t } = operator;
  const { name, slug, confirmation, fields, problem, hasChanged = false } = step;
  const { title, lead, facts, repeated, field, settled, back } = confirmation;
  const button = settled === undefined ? confirmation.button : undefined;
  const hidden = [
    ...repeated.map((key) => [key, fields[key] ?? '']),
    [SHOWN, markOf(operator, name, confirmation)],
  ].map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`);
  const inputs =
    field === undefined
      ? []
      : [{ ...field, autocomplete: 'off', isText: true, value: fields[field.name] } as const];
  const buttons: Button[] =
    button === undefined
      ? []
      : button.isDestructive === true
        ? [[CONFIRM + name, button.label, 'final']]
        : [[CONFIRM + name, button.label]];
  const path = pathOf(operator, slug, back.query);
  const linkBack = (label: Message): Html => html`<a class="button" href="${path}">${t(label)}</a>`;
  return html`<section class="card"><h2>${t(title)}</h2>
${hasChanged && html`<p class="notice" role="status">${t(message('ops.changed_meanwhile'))}</p>`}
${settled !== undefined && html`<p class="notice" role="status">${t(settled.text)}</p>`}
${settled === undefined && lead !== undefined && html`<p>${t(lead)}</p>`}
${facts}
${problemOf({ problem }, inputs)}
${
  button === undefined
    ? html`<p>${linkBack(back.label)}</p>`
    : formOf(
        operator,
        path,
        html`${hidden}${inputsOf({ locale, problem }, inputs)}`,
        buttons,
        linkBack(message('ops.cancel')),
      )
}</section>`;
};

/** The API's error for the field, or the message for a missing text. */
const problemOfField = (
  { locale }: Operator,
  { field }: Confirmation,
  result: ActionResult | undefined,
  fields: Fields,
): Problem | undefined => {
  if (field === undefined) return undefined;
  if (result === undefined) return missingIn(locale, [{ ...field, autocomplete: 'off' }], fields);
  const problem = 'refused' in result ? problemIn(result.refused) : undefined;
  return problem?.fields[field.apiName ?? field.name] === undefined ? undefined : problem;
};

/** The actions of both steps, `name` and `confirm_<name>`. */
export const decisionOf = <Row>(name: string, decision: Decision<Row>): Record<string, Action> => {
  const { slug, find, missing, confirmation: confirmationOf, perform } = decision;
  return {
    [name]: async (operator, fields) => {
      const row = await find(operator, fields);
      if (row === undefined) return gone(operator, missing);
      const confirmation = await confirmationOf(operator, row, fields);
      return { shown: page(operator, { name, slug, confirmation, fields }) };
    },
    [CONFIRM + name]: async (operator, fields) => {
      const row = await find(operator, fields);
      if (row === undefined) return gone(operator, missing);
      const confirmation = await confirmationOf(operator, row, fields);
      const step = { name, slug, confirmation, fields };
      const { settled } = confirmation;
      if (settled !== undefined) return settled.result ?? { shown: page(operator, step) };
      if (confirmation.button === undefined || !isMark(markOf(operator, name, confirmation), fields[SHOWN]))
        return { shown: page(operator, { ...step, hasChanged: true }) };
      const empty = problemOfField(operator, confirmation, undefined, fields);
      if (empty !== undefined) return { shown: page(operator, { ...step, problem: empty }), problem: empty };
      const result = await perform(operator, row, fields);
      const problem = problemOfField(operator, confirmation, result, fields);
      return problem === undefined ? result : { shown: page(operator, { ...step, problem }), problem };
    },
  };
};
