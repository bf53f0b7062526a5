/** The page of one account, with every part that the operator may see. Each part requires an API permission. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import {
  formatDay,
  formatLanguage,
  formatList,
  formatNumber,
  formatSeries,
} from '@fitness/shared/kernel/i18n/translate.ts';
import { auditCall, auditTable, readAuditNames } from '../audit-entries.ts';
import { call, type Declaration } from '../call.ts';
import { type Content, cell, facts, form, link, MEMBERS, notice, part, userName, view } from '../content.ts';
import { decision } from '../decision.ts';
import { list, pageIn, type RowOf } from '../list.ts';
import { findMember, readNames, type User, updateUser, user } from '../members.ts';
import { idIn, type Operator } from '../operator.ts';
import { balances, descriptionOf, type Payment, payments } from '../payment.ts';
import { isStaff, rolesCall, roleTitles } from '../roles.ts';
import type { Section } from '../section.ts';
import { licenseState, updateGym } from './licenses.ts';
import { deletion, deletionPart, remove, services } from './member-deletion.ts';

const gyms = call('GET /gyms', { permissions: ['gyms.view_all'] });
const sessions = call('GET /users/{id}/sessions', { permissions: ['users.view_all'] });
const endSession = call('DELETE /users/{id}/sessions/{session_id}', { permissions: ['users.update_any'] });

const idOf = ({ query }: Operator): string => idIn(query.id) ?? '0';

const stateOf = (member: User | undefined): Content => {
  if (member === undefined) return cell.badge('bad', message('ops.member.gone'));
  return member.deletion_scheduled_at === null
    ? cell.badge('good', message('ops.member.active'))
    : cell.badge('waiting', message('ops.member.pending'));
};

const licenseOf = ({
  id,
  trainer_license_image: image,
  trainer_license_approved: approved,
}: User): Content => {
  if (image === null && approved === null) return null;
  const text = licenseState(approved);
  return (operator) =>
    updateUser.isFor(operator) ? link(text, 'licenses', { kind: 'trainer', id }) : view`${text}`;
};

const accountOf = async (operator: Operator, member: User): Promise<Content> => {
  const { referrer_user_id: referrer, birth_date: birth, height, roles } = member;
  const { locale, t } = operator;
  const names = await readNames(operator, [referrer]);
  // How the account describes itself. The kinds grant no permissions.
  const kinds = [
    ...(member.is_trainer ? [message('ops.member.trainer')] : []),
    ...(member.is_gym_owner ? [message('ops.member.gym_owner')] : []),
  ];
  return [
    facts([
      ['account_deletion.requested_at', cell.time(member.deletion_requested_at)],
      ['ops.deletion_at', cell.time(member.deletion_scheduled_at)],
      ['ops.id', String(member.id)],
      ['ops.email', member.email],
      ['ops.phone', member.phone],
      ['ops.bank_account', cell.account(member.bank_account_number)],
      ['ops.member.birth_date', birth !== null && view`<bdi>${formatDay(locale, birth)}</bdi>`],
      ['ops.field.height', height != null && view`${message('ops.centimeters', { amount: height })}`],
      ['ops.member.kinds', formatList(locale, kinds.map(t))],
      ['ops.roles', roleTitles(operator, roles)],
      ['ops.member.license', licenseOf(member)],
      ['ops.member.referrer', referrer != null && cell.member(names.get(referrer), referrer)],
      ['ops.member.referrals', view`${formatNumber(locale, member.referrals_count ?? 0)}`],
      ['ops.created', cell.time(member.created_at)],
    ]),
    view`\n<p>${link(message('ops.member.roles'), 'users', { id: member.id })}</p>`,
  ];
};

const subscriptionOf = ({ current_subscription: current }: User): Content =>
  current === null
    ? notice(message('ops.member.subscription.none'))
    : facts([
        ['ops.product', cell.word('ops.plan', current.type)],
        ['ops.member.starts', cell.time(current.starts_at)],
        ['ops.member.expires', cell.time(current.expires_at)],
      ]);

const paymentState = ({ is_done: isDone, rejected_at: rejectedAt }: Payment): Content => {
  if (rejectedAt !== null) return cell.badge('', message('ops.payment.rejected'));
  return isDone
    ? cell.badge('good', message('ops.payment.done'))
    : cell.badge('waiting', message('ops.payment.open'));
};

const ofMember = (operator: Operator) => ({ query: { user_id: idOf(operator), per_page: 10 } });

const paymentList = list({
  call: payments,
  input: ofMember,
  page: 'payments',
  title: 'ops.member.payments',
  none: 'ops.member.payments.none',
  columns: [
    ['ops.id', ({ id }) => String(id)],
    ['ops.payment.type', ({ type }) => cell.word('ops.payment', type)],
    ['ops.amount', ({ amount }) => cell.amount(amount), 'number'],
    ['ops.payment.state', paymentState],
    ['ops.description', descriptionOf],
    ['ops.ref_number', ({ meta }) => meta?.ref_number ?? meta?.reference],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});

const activity = ({ is_active: isActive }: { is_active: boolean }): Message =>
  message(isActive ? 'ops.member.shown' : 'ops.member.hidden');

type Gym = RowOf<'GET /gyms'>;

const hasLicense = ({ gym_license_image: image, gym_license_approved: approved }: Gym): boolean =>
  image != null || approved != null;

const gymName = (gym: Gym): Content => {
  const { id, name } = gym;
  const text = name ?? message('language.id', { id });
  return (operator) =>
    hasLicense(gym) && updateGym.isFor(operator) ? link(text, 'licenses', { kind: 'gym', id }) : text;
};

const gymList = list({
  call: gyms,
  input: ofMember,
  page: 'gyms',
  title: 'ops.member.gyms',
  none: 'ops.member.gyms.none',
  columns: [
    ['ops.member.name', gymName],
    ['ops.id', ({ id }) => String(id)],
    ['ops.member.state', activity],
    ['ops.member.license', (gym) => hasLicense(gym) && licenseState(gym.gym_license_approved)],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});

const serviceList = list({
  call: services,
  input: ofMember,
  page: 'services',
  title: 'ops.member.services',
  none: 'ops.member.services.none',
  columns: [
    ['ops.member.name', ({ title }) => title],
    ['ops.id', ({ id }) => String(id)],
    ['ops.member.price', ({ price }) => cell.amount(price), 'number'],
    ['ops.member.state', activity],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});

type Session = RowOf<'GET /users/{id}/sessions'>;

/** Mirrors the rule of the API: only operators who manage roles may end the sessions of other operators. */
const mayEndSessions = (operator: Operator, member: User): boolean =>
  endSession.isFor(operator) &&
  member.id !== operator.caller.userId &&
  (rolesCall.isFor(operator) || !isStaff(member));

const programOf = ({ name }: Session): Content => name ?? message('ops.member.program.unknown');

const deviceOf =
  ({ device }: Session): Content =>
  ({ t, locale }) => {
    if (device === null) return null;
    const word = cell.word('ops.platform', device.platform);
    const system = typeof word === 'string' ? word : t(word);
    return view`${formatSeries(locale, [system, formatLanguage(locale, device.locale)])}`;
  };

const END_BUTTON = ['end_session', message('ops.member.session.end'), 'danger'] as const;

const sessionList = (isEnding: boolean) =>
  list({
    call: sessions,
    input: (operator) => ({ id: idOf(operator), query: { per_page: 10 } }),
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

const historyOf = async (operator: Operator): Promise<Content> => {
  const id = idOf(operator);
  const ofMember = { subject_type: 'user', subject_id: id };
  const { data } = await auditCall.read(operator, { query: { ...ofMember, per_page: 10 } });
  const names = await readAuditNames(operator, data);
  const all = link(message('ops.member.history.all'), 'audit-log', ofMember);
  const own = link(message('ops.member.history.own'), 'audit-log', { actor_id: id });
  return [
    auditTable(operator, data, names) ?? notice(message('ops.none')),
    view`\n<p class="row">${all}\n${own}</p>`,
  ];
};

/** A session of the member. */
interface OpenSession {
  member: User;
  session: Session;
}

const sessionEnd = decision<OpenSession>({
  name: 'end_session',
  done: 'ended',
  of: ({ session: { id } }) => ({ session: id }),
  rank: 'danger',
  find: async (operator, { session_id: id }) => {
    const row = await findMember(operator, idOf(operator));
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

/** The page numbers of the lists, which are paged independently. */
const pagesIn = ({ query }: Operator): Record<string, string> =>
  Object.fromEntries(['payments', 'gyms', 'services', 'sessions'].map((name) => [name, pageIn(query, name)]));

const moneyOf = async (operator: Operator): Promise<Content> => {
  const [{ balance }, shown] = await Promise.all([
    balances.read(operator, { query: { user_id: idOf(operator) } }),
    paymentList.show(operator, pagesIn(operator)),
  ]);
  return [facts([['ops.member.balance', cell.amount(balance)]]), shown];
};

interface Part {
  title: MessageKey;
  /** What the operator must be allowed to call. Default: the call for the account itself. */
  needs?: Declaration;
  /** Shown even for an erased account. */
  always?(operator: Operator): Promise<Content>;
  show?(operator: Operator, member: User): Content | Promise<Content>;
}

const PARTS: readonly Part[] = [
  { title: 'ops.member.account', show: accountOf },
  { title: 'ops.member.payments', needs: payments, always: moneyOf },
  { title: 'ops.member.subscription', show: (_operator, member) => subscriptionOf(member) },
  {
    title: 'ops.member.gyms',
    needs: gyms,
    show: (operator) => gymList.show(operator, pagesIn(operator)),
  },
  { title: 'ops.member.services', show: (operator) => serviceList.show(operator, pagesIn(operator)) },
  {
    title: 'ops.member.sessions',
    show: (operator, member) =>
      sessionList(mayEndSessions(operator, member)).show(operator, pagesIn(operator)),
  },
  { title: 'ops.member.deletion', needs: remove, show: deletionPart },
  { title: 'ops.member.history', needs: auditCall, always: historyOf },
];

/** For an erased account, only its payments and its history. */
const showParts = (operator: Operator, member: User | undefined): Promise<Content>[] =>
  PARTS.filter(({ needs = user }) => needs.isFor(operator)).flatMap(({ title, always, show }) => {
    if (always !== undefined) return [part(title, () => always(operator))];
    return member === undefined || show === undefined
      ? []
      : [part(title, async () => show(operator, member))];
  });

export const member: Section = {
  slug: MEMBERS,
  title: 'ops.member',
  within: 'users',
  needs: [[user]],
  show: async (operator) => {
    const id = idOf(operator);
    const row = await findMember(operator, id);
    return [
      view`<div class="row"><h2>${cell.name(row ?? { id: Number(id) })}</h2>${stateOf(row)}</div>\n`,
      row === undefined && notice(message('ops.member.gone.lead')),
      await Promise.all(showParts(operator, row)),
    ];
  },
  decisions: [deletion, sessionEnd],
  notice: async (operator, done) => {
    const id = idOf(operator);
    const row = await findMember(operator, id);
    if (done === 'deleted')
      return row === undefined ? message('ops.done.deleted', { id: Number(id) }) : undefined;
    const sessionId = idIn(operator.query.session);
    if (done !== 'ended' || row === undefined || sessionId === undefined) return undefined;
    const isOpen = (await sessionList(false).find(operator, sessionId)) !== undefined;
    return isOpen ? undefined : message('ops.done.session', { name: userName(row) });
  },
};
