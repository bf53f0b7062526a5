/** Sections of `/ops`. Showing or using one requires permissions, and the services check each call again. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import type { ApiAnswer, Problem } from '@fitness/shared/pages/visitor.ts';
import type { Declaration } from './call.ts';
import type { Content } from './content.ts';
import { type AnyList, showLists, waitingIn, watchLists } from './list.ts';
import type { Operator, Parameters, Waiting } from './operator.ts';

/**
 * `query` alone redirects to the page with this query, without a notice. `done` redirects to the page with a notice. Its `query` names the
 * item by id, without personal data. `refused` shows an error response of the API as a problem. `shown` is the next step, with any problem
 * at its field.
 */
export type ActionResult =
  | { query: Parameters }
  | { done: string; query?: Parameters }
  | { refused: ApiAnswer }
  | { shown: Content; problem?: Problem };

export type Action = (operator: Operator, fields: Fields) => Promise<ActionResult>;

export interface Section {
  /** The last path segment, which is empty for the first section. */
  slug: string;
  title: MessageKey;
  /**
   * The section whose navigation link leads to this one. This section's address then ends with an id, as in
   * `/ops/members/5`, and `query` contains the id.
   */
  within?: string;
  /** Alternative sets of calls. The operator needs the permissions of one complete set. */
  needs: readonly (readonly Declaration[])[];
  lists?: readonly AnyList[];
  /** Default: its lists. */
  show?(operator: Operator): Promise<Content>;
  /** What is waiting in the section for an operator. Default: in its lists. */
  waiting?(operator: Operator): Promise<readonly Waiting[]>;
  /** Returns a value that changes with the content. Default: the ids in its lists. A page without either does not report changes. */
  watch?(operator: Operator): Promise<string>;
  /** Whether the content is replaced live. Only for pages without forms, where nobody can be typing. */
  isReplaced?: true;
  /** Whether the section itself shows API errors, at their fields. */
  showsProblems?: true;
  decisions?: readonly { actions: Readonly<Record<string, Action>> }[];
  actions?: Readonly<Record<string, Action>>;
  /** The notice after `done`. The item is read again to confirm it, because anyone can craft an address. */
  notice?(operator: Operator, done: string): Promise<Message | undefined>;
}

export const maySee = ({ needs }: Section, operator: Pick<Operator, 'caller'>): boolean =>
  needs.some((all) => all.every((call) => call.isFor(operator)));

export const contentOf = async ({ show, lists = [] }: Section, operator: Operator): Promise<Content> =>
  show === undefined ? showLists(operator, lists) : show(operator);

/** Undefined if the page of the section does not report changes. */
export const watcherOf = ({ watch, lists }: Section): Section['watch'] =>
  watch ?? (lists && ((operator) => watchLists(operator, lists)));

/** Undefined if nothing in the section waits for an operator. */
export const waitingOf = ({ waiting, lists = [] }: Section): Section['waiting'] =>
  waiting ??
  (lists.some((list) => list.waiting !== undefined) ? (operator) => waitingIn(operator, lists) : undefined);

/** The path of a section below `/ops`. */
export const addressOf = ({ slug, within }: Section, { id }: Fields): string =>
  within === undefined ? slug : `${slug}/${id}`;

export const outcomeOf = (answer: ApiAnswer, done: string, query: Parameters = {}): ActionResult =>
  answer.status < 300 ? { done, query } : { refused: answer };

/** The 404 response of the API for a missing item. */
export const gone = (
  { t }: Operator,
  text: Message = message('error.not_found'),
): { refused: ApiAnswer } => ({
  refused: { status: 404, headers: {}, body: { message: t(text) } },
});
