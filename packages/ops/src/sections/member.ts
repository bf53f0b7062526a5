/** The page of one account, with every part that the operator may see. Each part requires an API permission. */
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatDay, formatList, formatNumber } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { auditCall, auditTable, readAuditNames } from '../audit-entries.ts';
import type { Declaration } from '../call.ts';
import { type Content, cell, facts, link, MEMBERS, notice, part, userName, view } from '../content.ts';
import { pagesOf } from '../list.ts';
import { findMember, memberIdIn, readNames, type User, updateUser, user } from '../members.ts';
import { idIn, type Operator } from '../operator.ts';
import { balances, payments } from '../payment.ts';
import { roleTitles } from '../roles.ts';
import type { Section } from '../section.ts';
import { licenseState } from './licenses.ts';
import { deletion, deletionPart, remove } from './member-deletion.ts';
import { gymList, gyms, paymentList, serviceList } from './member-lists.ts';
import { mayEndSessions, sessionEnd, sessionList } from './member-sessions.ts';

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

const historyOf = async (operator: Operator): Promise<Content> => {
  const id = memberIdIn(operator);
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

/** The lists of the page, which are paged independently. */
const LISTS = [paymentList, gymList, serviceList, sessionList(false)];

const moneyOf = async (operator: Operator, pages: Fields): Promise<Content> => {
  const [{ balance }, shown] = await Promise.all([
    balances.read(operator, { query: { user_id: memberIdIn(operator) } }),
    paymentList.show(operator, pages),
  ]);
  return [facts([['ops.member.balance', cell.amount(balance)]]), shown];
};

/** The parts that the operator may see. An erased account has only its payments and its history. */
const partsOf = (operator: Operator, member: User | undefined): (Promise<Content> | undefined)[] => {
  const pages = pagesOf(operator, LISTS);
  const shown = (title: MessageKey, needs: Declaration, read: () => Content | Promise<Content>) =>
    needs.isFor(operator) ? part(title, async () => read()) : undefined;
  return [
    member && shown('ops.member.account', user, () => accountOf(operator, member)),
    shown('ops.member.payments', payments, () => moneyOf(operator, pages)),
    member && shown('ops.member.subscription', user, () => subscriptionOf(member)),
    member && shown('ops.member.gyms', gyms, () => gymList.show(operator, pages)),
    member && shown('ops.member.services', user, () => serviceList.show(operator, pages)),
    member &&
      shown('ops.member.sessions', user, () =>
        sessionList(mayEndSessions(operator, member)).show(operator, pages),
      ),
    member && shown('ops.member.deletion', remove, () => deletionPart(operator, member)),
    shown('ops.member.history', auditCall, () => historyOf(operator)),
  ];
};

export const member: Section = {
  slug: MEMBERS,
  title: 'ops.member',
  within: 'users',
  needs: [[user]],
  show: async (operator) => {
    const id = memberIdIn(operator);
    const row = await findMember(operator, id);
    return [
      view`<div class="row"><h2>${cell.name(row ?? { id: Number(id) })}</h2>${stateOf(row)}</div>\n`,
      row === undefined && notice(message('ops.member.gone.lead')),
      await Promise.all(partsOf(operator, row)),
    ];
  },
  decisions: [deletion, sessionEnd],
  notice: async (operator, done) => {
    const id = memberIdIn(operator);
    const row = await findMember(operator, id);
    if (done === 'deleted')
      return row === undefined ? message('ops.done.deleted', { id: Number(id) }) : undefined;
    const sessionId = idIn(operator.query.session);
    if (done !== 'ended' || row === undefined || sessionId === undefined) return undefined;
    const isOpen = (await sessionList(false).find(operator, sessionId)) !== undefined;
    return isOpen ? undefined : message('ops.done.session', { name: userName(row) });
  },
};
