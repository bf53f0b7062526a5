/** The sessions of a member, and the end of one by an operator. */
import { message } from '@fitness/shared/kernel/error.ts';
import { formatLanguage, formatSeries } from '@fitness/shared/kernel/i18n/translate.ts';
import { call } from '../call.ts';
import { type Content, cell, facts, form, userName, view, wordOf } from '../content.ts';
import { decision } from '../decision.ts';
import { list, type RowOf } from '../list.ts';
import { findMember, memberIdIn, type User } from '../members.ts';
import { idIn, type Operator } from '../operator.ts';
import { isStaff, rolesCall } from '../roles.ts';

const sessions = call('GET /users/{id}/sessions', ['users.view_all']);
const endSession = call('DELETE /users/{id}/sessions/{session_id}', ['users.update_any']);

type Session = RowOf<'GET /users/{id}/sessions'>;

/** Mirrors the rule of the API: only operators who manage roles may end the sessions of other operators. */
export const mayEndSessions = (operator: Operator, member: User): boolean =>
  endSession.isFor(operator) &&
  member.id !== operator.caller.userId &&
  (rolesCall.isFor(operator) || !isStaff(member));

const programOf = ({ name }: Session): Content => name ?? message('ops.member.program.unknown');

/** Names that are the same in every language. */
const SYSTEMS: Readonly<Record<string, string>> = { android: 'Android', ios: 'iOS' };

const deviceOf =
  ({ device }: Session): Content =>
  ({ t, locale }) => {
    if (device === null) return null;
    const { platform } = device;
    const system = SYSTEMS[platform] ?? wordOf(t, 'ops.platform', platform) ?? platform;
    return view`${formatSeries(locale, [system, formatLanguage(locale, device.locale)])}`;
  };

const END_BUTTON = ['end_session', message('ops.member.session.end'), 'danger'] as const;

export const sessionList = (isEnding: boolean) =>
  list({
    call: sessions,
    input: (operator) => ({ id: memberIdIn(operator), query: { per_page: 10 } }),
    page: 'sessions',
    title: 'ops.member.sessions',
    none: 'ops.member.sessions.none',
    columns: [
      ['ops.member.program', programOf],
      ['ops.member.address', ({ address }) => address],
      ['ops.member.device', deviceOf],
      ['ops.member.signed_in', ({ created_at: at }) => cell.time(at)],
      ['ops.member.used', ({ last_used_at: at }) => cell.time(at)],
      ...(isEnding
        ? [
            [
              'ops.audit.action',
              ({ id }: Session) => form({ hidden: { session_id: id }, buttons: [END_BUTTON] }),
            ] as const,
          ]
        : []),
    ],
  });

/** A session of the member. */
interface OpenSession {
  member: User;
  session: Session;
}

export const sessionEnd = decision<OpenSession>({
  name: 'end_session',
  done: 'ended',
  of: ({ session: { id } }) => ({ session: id }),
  rank: 'danger',
  find: async (operator, { session_id: id }) => {
    const row = await findMember(operator, memberIdIn(operator));
    const session = row && (await sessionList(false).find(operator, idIn(id)));
    return row && session && { member: row, session };
  },
  missing: message('ops.member.session.ended'),
  fields: ({ session: { id } }) => ({ session_id: id }),
  label: () => message('ops.member.session.end'),
  confirmation: ({ member: owner, session }) => ({
    title: message('ops.member.session.title', { name: userName(owner) }),
    lead: message('ops.member.session.lead'),
    facts: facts([
      ['ops.user', cell.member(owner)],
      ['ops.member.program', programOf(session)],
      ['ops.member.address', session.address],
      ['ops.member.device', deviceOf(session)],
      ['ops.member.signed_in', cell.time(session.created_at)],
      ['ops.member.used', cell.time(session.last_used_at)],
    ]),
    state: [owner.id, owner.username, session.id],
    back: { label: message('ops.back_to', { name: userName(owner) }) },
  }),
  perform: (operator, { member: owner, session }) =>
    endSession.send(operator, { id: owner.id, session_id: session.id }),
});
