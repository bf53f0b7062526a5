/** The deletion of an account by an operator: what blocks it, and what to consider before it. */
import type { Schemas } from '@fitness/client';
import { isBlockerCode } from '@fitness/contracts/blockers.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { isolate } from '@fitness/shared/pages/html.ts';
import { call } from '../call.ts';
import { type Content, cell, facts, link, notice, userName, view } from '../content.ts';
import { decision, decisionsAbout } from '../decision.ts';
import { countOf } from '../list.ts';
import { findMember, memberIdIn, type User } from '../members.ts';
import type { Operator } from '../operator.ts';
import { disputedDeposits, refundQueue, resolve } from './disputes.ts';
import { services } from './member-lists.ts';

export const remove = call('DELETE /users/{id}', ['users.delete']);
const deletionBlockers = call('GET /users/{id}/deletion-blockers', ['users.delete']);

/** Something to consider before the account is erased, although it blocks nothing. `count` is undefined if the operator may not see it. */
interface Warning {
  key: 'disputes' | 'refunds' | 'services';
  count: number | undefined;
}

/** An account that the operator may delete. */
interface Deletion {
  member: User;
  blockers: readonly Schemas['DeletionBlocker'][];
  warnings: readonly Warning[];
}

const readWarnings = async (operator: Operator, { id }: User): Promise<Warning[]> => {
  const input = { query: { user_id: id } };
  const [disputes, refunds, sold] = await Promise.all([
    disputedDeposits.isFor(operator) ? countOf(operator, disputedDeposits, input) : undefined,
    refundQueue.isFor(operator) ? countOf(operator, refundQueue, input) : undefined,
    countOf(operator, services, input),
  ]);
  const warnings: Warning[] = [
    { key: 'disputes', count: disputes },
    { key: 'refunds', count: refunds },
    { key: 'services', count: sold },
  ];
  return warnings.filter(({ count }) => count !== 0);
};

/** Undefined if the operator may not delete the account. */
const readDeletion = async (operator: Operator, member: User): Promise<Deletion | undefined> => {
  const blockers = await deletionBlockers.find(operator, { id: member.id }, 403);
  return blockers && { member, blockers: blockers.data, warnings: await readWarnings(operator, member) };
};

const warningList =
  (warnings: readonly Warning[]): Content =>
  (operator) => {
    const counted = warnings.filter(({ count }) => count !== undefined);
    const texts = counted.map(({ key, count = 0 }): Content => {
      const text = message(`ops.warning.${key}`, { count });
      return key !== 'services' && resolve.isFor(operator) ? link(text, 'disputes') : text;
    });
    if (counted.length < warnings.length) texts.push(message('ops.warning.hidden'));
    return (
      texts.length > 0 &&
      view`<div class="notice waiting"><strong>${message('ops.warning')}</strong>
<ul>${texts.map((text) => view`<li>${text}</li>\n`)}</ul></div>`
    );
  };

/** Describes a blocker to an operator. The text of the API addresses the member. */
const blockerText = ({ code, message: text, ...extras }: Schemas['DeletionBlocker']): Content =>
  isBlockerCode(code) ? message(`ops.blocker.${code}`, extras) : text;

const blockerList = ({ blockers }: Deletion): Content =>
  blockers.length === 0
    ? view`<p>${message('ops.member.delete.free')}</p>`
    : view`<p>${message('ops.member.delete.blocked')}</p>
<ul class="cannot">${blockers.map((blocker) => view`<li>${blockerText(blocker)}</li>\n`)}</ul>`;

export const deletionPart = async (operator: Operator, member: User): Promise<Content> => {
  const found = await readDeletion(operator, member);
  if (found === undefined) return notice(message('ops.member.delete.not_yours'));
  const mayAct = found.blockers.length === 0 && member.id !== operator.caller.userId;
  return view`${blockerList(found)}
${warningList(found.warnings)}
${mayAct && decisionsAbout(found, [deletion])}`;
};

export const deletion = decision<Deletion>({
  name: 'delete',
  done: 'deleted',
  rank: 'danger',
  find: async (operator) => {
    const member = await findMember(operator, memberIdIn(operator));
    return member && readDeletion(operator, member);
  },
  fields: () => ({}),
  label: ({ member: { username } }) => message('ops.member.delete', { username: isolate(username) }),
  confirmation: (found) => {
    const { member, blockers, warnings } = found;
    const { id, username, email, phone } = member;
    return {
      title: message('ops.member.delete.title', { name: userName(member) }),
      facts: [
        notice(message('ops.member.delete.lead'), 'bad'),
        facts([
          ['ops.user', cell.member(member)],
          ['ops.id', String(id)],
          ['ops.email', email],
          ['ops.phone', phone],
          ['ops.created', cell.time(member.created_at)],
        ]),
        blockerList(found),
        warningList(warnings),
      ],
      state: [id, username, email, phone, ...warnings.map(({ key, count }) => `${key} ${count}`)],
      isEmpty: blockers.length > 0,
      back: { label: message('ops.back_to', { name: userName(member) }) },
    };
  },
  perform: (operator, { member: { id } }) => remove.send(operator, { id }),
});
