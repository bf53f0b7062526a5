/**
 * A decision in two steps. The first step shows what will be done. The second one executes it only if nothing that was shown has changed.
 * Otherwise, and for a form that was never shown, the first step is shown again.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Field, inputsOf, missingIn, problemOf } from '@fitness/shared/pages/views.ts';
import { type ApiAnswer, type Problem, problemIn } from '@fitness/shared/pages/visitor.ts';
import { type Content, card, form, type Text, view } from './content.ts';
import { type Operator, type Parameters, pathOf } from './operator.ts';
import { type Action, type ActionResult, gone, outcomeOf } from './section.ts';

export interface Confirmation {
  title: Text;
  /** What the decision means for the account. */
  lead?: Message;
  /** Names the person, the amount and the account. */
  facts: Content;
  /** More fields of the first form that the second form repeats. */
  repeated?: readonly string[];
  /** Hidden fields of the second form. */
  hidden?: Fields;
  /** Everything that must not have changed since it was shown. */
  state: readonly (string | number | null | undefined)[];
  /** A text field. `missing` is the message for an empty field, and is undefined if the text is optional. */
  field?: Pick<Field, 'name' | 'label' | 'missing' | 'apiName' | 'isLong'> | undefined;
  /**
   * Set if it has already been decided. The page says so, without a button. `isSame`: whether a second click gets the same response.
   * Without it, the API says whether it is a second click.
   */
  settled?: { text: Text; isSame?: boolean } | undefined;
  /** What is below the form. */
  more?: Content;
  /** Whether there is nothing to do. */
  isEmpty?: boolean;
  back: { query?: Parameters; label: Text };
}

interface DecisionOptions<Row> {
  name: string;
  /** Reads the current state. */
  find(operator: Operator, fields: Fields): Promise<Row | undefined>;
  /** The message if there is no row. */
  missing?: Message;
  /** Handles the second form if there is no row anymore. Default: that message. */
  late?: Action;
  /** The fields that identify the row. */
  fields(row: Row): Readonly<Record<string, string | number | undefined>>;
  label(row: Row, fields: Fields): Text;
  /** The rank of the button that leads to it. `danger`: it cannot be undone. */
  rank?: 'secondary' | 'danger';
  confirmation(row: Row, operator: Operator, fields: Fields): Confirmation | Promise<Confirmation>;
  perform(operator: Operator, row: Row, fields: Fields): Promise<ApiAnswer>;
  /** The text for a 409, above the row as it is then. Default: the message of the API, on the page of the section. */
  refusal?(operator: Operator, answer: ApiAnswer, fields: Fields): Promise<string | undefined>;
  /** The notice afterwards, and the parameters that name its item. */
  done: string;
  of?(row: Row): Parameters;
}

export interface Decision<Row> {
  actions: Readonly<Record<string, Action>>;
  fields: DecisionOptions<Row>['fields'];
  button(row: Row): readonly [name: string, label: Text, rank: 'secondary' | 'danger' | undefined];
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
  options: Pick<DecisionOptions<unknown>, 'name' | 'rank'>;
  confirmation: Confirmation;
  /** The label of the button. Undefined if there is nothing to do. */
  label: Text | undefined;
  /** The fields of the first form. */
  repeated: Fields;
  fields: Fields;
  problem?: Problem | undefined;
  hasChanged?: boolean;
}

const page = (operator: Operator, step: Step): Content => {
  const { options, confirmation, label, repeated, fields, problem, hasChanged = false } = step;
  const { title, lead, facts, hidden, field, settled, more, back } = confirmation;
  const inputs =
    field === undefined
      ? []
      : [{ ...field, autocomplete: 'off', isText: true, value: fields[field.name] } as const];
  const path = pathOf(operator, operator.slug, back.query);
  const linkBack = (text: Text): Content => view`<a class="button" href="${path}">${text}</a>`;
  const notice = (text: Text): Content => view`<p class="notice" role="status">${text}</p>`;
  const buttons = (text: Text): Content =>
    form({
      query: back.query,
      hidden: { ...repeated, ...hidden, [SHOWN]: markOf(operator, options.name, confirmation) },
      content: inputsOf({ locale: operator.locale, problem }, inputs),
      buttons: [[CONFIRM + options.name, text, options.rank === 'danger' ? 'final' : undefined]],
      cancel: linkBack(message('ops.cancel')),
    });
  return card(
    title,
    view`
${hasChanged && notice(message('ops.changed_meanwhile'))}
${settled !== undefined && notice(settled.text)}
${settled === undefined && lead !== undefined && view`<p>${lead}</p>`}
${facts}
${problemOf({ problem }, inputs)}
${label === undefined ? view`<p>${linkBack(back.label)}</p>` : buttons(label)}
${more}`,
  );
};

/** The API's error for the field, or the message for a missing text. */
const problemOfField = (
  { locale }: Operator,
  { field }: Confirmation,
  answer: ApiAnswer | undefined,
  fields: Fields,
): Problem | undefined => {
  if (field === undefined) return undefined;
  if (answer === undefined) return missingIn(locale, [{ ...field, autocomplete: 'off' }], fields);
  const problem = answer.status < 300 ? undefined : problemIn(answer);
  return problem?.fields[field.apiName ?? field.name] === undefined ? undefined : problem;
};

/** The actions of both steps, `name` and `confirm_<name>`, and the button that leads to the first one. */
export const decision = <Row>(options: DecisionOptions<Row>): Decision<Row> => {
  const { name, find, missing, fields: identify, label, perform, done, of } = options;
  const stepOf = async (operator: Operator, row: Row, fields: Fields): Promise<Step> => {
    const confirmation = await options.confirmation(row, operator, fields);
    const { settled, isEmpty, repeated = [] } = confirmation;
    const names = [...Object.keys(identify(row)), ...repeated];
    return {
      options,
      confirmation,
      label: settled !== undefined || isEmpty === true ? undefined : label(row, fields),
      repeated: Object.fromEntries(names.map((key) => [key, fields[key]])),
      fields,
    };
  };
  const decide = async (operator: Operator, row: Row, fields: Fields): Promise<ActionResult> => {
    const step = await stepOf(operator, row, fields);
    const { confirmation } = step;
    const { settled, isEmpty } = confirmation;
    if (settled?.isSame === true) return { done, query: of?.(row) ?? {} };
    if (settled?.isSame === false) return { shown: page(operator, step) };
    // A decision about something settled goes to the API, which records what was entered. Its state differs from the one shown.
    const isAsShown = settled !== undefined || isMark(markOf(operator, name, confirmation), fields[SHOWN]);
    if (isEmpty === true || !isAsShown) return { shown: page(operator, { ...step, hasChanged: true }) };
    const refuse = (problem: Problem): ActionResult => ({
      shown: page(operator, { ...step, problem }),
      problem,
    });
    const empty = problemOfField(operator, confirmation, undefined, fields);
    if (empty !== undefined) return refuse(empty);
    const answer = await perform(operator, row, fields);
    const refusal = answer.status === 409 ? await options.refusal?.(operator, answer, fields) : undefined;
    if (refusal !== undefined) {
      const current = await stepOf(operator, (await find(operator, fields)) ?? row, fields);
      const conflict = { status: answer.status, text: refusal, fields: {} };
      return { shown: page(operator, { ...current, problem: conflict }), problem: conflict };
    }
    const problem = problemOfField(operator, confirmation, answer, fields);
    return problem === undefined ? outcomeOf(answer, done, of?.(row)) : refuse(problem);
  };
  const withRow =
    (
      act: (operator: Operator, row: Row, fields: Fields) => Promise<ActionResult>,
      late: Action = async (operator) => gone(operator, missing),
    ): Action =>
    async (operator, fields) => {
      const row = await find(operator, fields);
      return row === undefined ? late(operator, fields) : act(operator, row, fields);
    };
  return {
    fields: identify,
    button: (row) => [name, label(row, {}), options.rank],
    actions: {
      [name]: withRow(async (operator, row, fields) => ({
        shown: page(operator, await stepOf(operator, row, fields)),
      })),
      [CONFIRM + name]: withRow(decide, options.late),
    },
  };
};

/** A form whose buttons lead to the first steps of the decisions about a row. */
export const decisionsAbout = <Row>(
  row: Row,
  decisions: readonly Decision<Row>[],
  query?: Parameters,
): Content =>
  form({
    query,
    hidden: Object.assign({}, ...decisions.map(({ fields }) => fields(row))),
    buttons: decisions.map(({ button }) => button(row)),
  });
