/** A decision about money that another operator has made first. */
import { message } from '@fitness/shared/kernel/error.ts';
import { isMessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { ApiAnswer } from '@fitness/shared/pages/visitor.ts';
import { userName } from './content.ts';
import { readNames } from './members.ts';
import type { Operator } from './operator.ts';

/** The name of an operator in a text, or the id without it. */
export const operatorName = async (operator: Operator, id: number): Promise<string> => {
  const named = (await readNames(operator, [id])).get(id);
  return named === undefined ? operator.t(message('language.id', { id })) : userName(named);
};

/**
 * Who has decided what, and the text that this operator has entered meanwhile. Undefined for a 409 for another reason. The texts are
 * `ops.settled.<outcome>`.
 */
export const settledRefusal = async (
  operator: Operator,
  { body }: ApiAnswer,
  entered: string,
): Promise<string | undefined> => {
  const { t } = operator;
  const { settled_by: by, settled_at: settledAt, claimed_by: holder, claimed_until: until } = body;
  if (typeof holder === 'number') {
    const claim = { name: await operatorName(operator, holder), expires_at: String(until) };
    return t(message('ops.claim.other', claim));
  }
  const key = `ops.settled.${String(body.outcome)}`;
  if (typeof by !== 'number' || typeof settledAt !== 'string' || !isMessageKey(key)) return undefined;
  const name = await operatorName(operator, by);
  const note = String(body.reference ?? body.note ?? t(message('ops.audit.nothing')));
  const made = t(message(key, { name, settled_at: settledAt, note }));
  return entered === '' ? made : `${made} ${t(message('ops.settled.entered', { entered }))}`;
};
