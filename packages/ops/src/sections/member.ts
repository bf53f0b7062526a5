/** The page of one account, with every part that the operator may see. Each part requires an API permission. */
import { isBlockerCode } from '@fitness/contracts/blockers.ts';
import { PAYMENT_TYPES } from '@fitness/contracts/payment-types.ts';
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Message, message, unavailable } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import {
  formatDay,
  formatLanguage,
  formatNumber,
  formatSeries,
  type Locale,
} from '@fitness/shared/kernel/i18n/translate.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { auditTable, type Entry, readAuditNames } from '../audit-entries.ts';
import { decisionOf } from '../decision.ts';
import { MEMBERS, memberLink, nameOf, readNames } from '../members.ts';
import { type Described, descriptionOf } from '../payment-description.ts';
import {
  type Action,
  actionForm,
  amountOf,
  type Column,
  copyableInGroups,
  countOf,
  type Done,
  emptyList,
  factsOf,
  findInList,
  idIn,
  idText,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  partOf,
  pathOf,
  read,
  type Section,
  tableOf,
  turnByLink,
  userName,
  wordOf,
} from '../section.ts';
import { type Role, roleTitle } from './roles.ts';
import { isStaff } from './users.ts';

interface Member {
  id: number;
  username: string;
  email: string;
  phone: string;
  bank_account_number: string | null;
  height: number | null;
  birth_date: string | null;
  created_at: string;
  roles: Role[];
  is_trainer: boolean;
  is_gym_owner: boolean;
  referrer_user_id: number | null;
  referrals_count: number;
  trainer_license_image: string | null;
  trainer_license_approved: boolean | null;
  deletion_requested_at: string | null;
  deletion_scheduled_at: string | null;
  current_subscription: { type: string; starts_at: string; expires_at: string } | null;
}

/** Undefined if the account does not exist, or no longer does. */
const findMember = async (operator: Operator, id: string): Promise<Member | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/users/${id}` });
  if (status === 404) return undefined;
  if (status !== 200) throw unavailable(`/users answered ${status}`);
  return body.user as Member;
};

const stateOf = ({ t }: Operator, member: Member | undefined): Html => {
  if (member === undefined) return html`<span class="badge bad">${t(message('ops.member.gone'))}</span>`;
  return member.deletion_scheduled_at === null
    ? html`<span class="badge good">${t(message('ops.member.active'))}</span>`
    : html`<span class="badge waiting">${t(message('ops.member.pending'))}</span>`;
};

const licenseOf = (operator: Operator, member: Member): Html | null => {
  const { t, caller } = operator;
  const { id, trainer_license_image: image, trainer_license_approved: approved } = member;
  if (image === null && approved === null) return null;
  const text = t(
    message(`ops.license.${approved === null ? 'pending' : approved ? 'approved' : 'rejected'}`),
  );
  if (!can(caller, 'users.update_any')) return html`${text}`;
  return html`<a href="${pathOf(operator, 'licenses', `&kind=trainer&id=${id}`)}">${text}</a>`;
};

const listed = (locale: Locale, texts: readonly string[]): string =>
  new Intl.ListFormat(locale, { type: 'conjunction' }).format(texts);

/** How the account describes itself. The kinds grant no permissions. */
const kindsOf = ({ t, locale }: Operator, { is_trainer: trains, is_gym_owner: owns }: Member): string =>
  listed(locale, [
    ...(trains ? [t(message('ops.member.trainer'))] : []),
    ...(owns ? [t(message('ops.member.gym_owner'))] : []),
  ]);

const accountOf = async (operator: Operator, member: Member): Promise<Html> => {
  const { t, locale } = operator;
  const { referrer_user_id: referrer, birth_date: birth, height, bank_account_number: iban } = member;
  const { deletion_requested_at: requestedAt, deletion_scheduled_at: scheduledAt } = member;
  const names = await readNames(operator, [referrer]);
  return html`${factsOf(t, [
    ['account_deletion.requested_at', requestedAt === null ? null : time(operator, requestedAt)],
    ['ops.deletion_at', scheduledAt === null ? null : time(operator, scheduledAt)],
    ['ops.id', String(member.id)],
    ['ops.email', member.email],
    ['ops.phone', member.phone],
    ['ops.bank_account', iban === null ? null : copyableInGroups(t, iban)],
    ['ops.member.birth_date', birth === null ? null : html`<bdi>${formatDay(locale, birth)}</bdi>`],
    ['ops.field.height', height == null ? null : html`${t(message('ops.centimeters', { amount: height }))}`],
    ['ops.member.kinds', kindsOf(operator, member)],
    [
      'ops.roles',
      listed(
        locale,
        member.roles.map((role) => roleTitle(t, role)),
      ),
    ],
    ['ops.member.license', licenseOf(operator, member)],
    ['ops.member.referrer', referrer === null ? null : memberLink(operator, names.get(referrer), referrer)],
    ['ops.member.referrals', html`${formatNumber(locale, member.referrals_count)}`],
    ['ops.created', time(operator, member.created_at)],
  ])}
<p><a href="${pathOf(operator, 'users', `&id=${member.id}`)}">${t(message('ops.member.roles'))}</a></p>`;
};

const PLANS = { plus: 'ops.plan.plus' } as const;

const subscriptionOf = (operator: Operator, { current_subscription: current }: Member): Html =>
  current === null
    ? emptyList(operator.t, 'ops.member.subscription.none')
    : factsOf(operator.t, [
        ['ops.product', wordOf(operator.t, PLANS, current.type)],
        ['ops.member.starts', time(operator, current.starts_at)],
        ['ops.member.expires', time(operator, current.expires_at)],
      ]);

interface Payment extends Described {
  id: number;
  type: string;
  amount: number;
  is_done: boolean;
  rejected_at: string | null;
  created_at: string;
}

const PAYMENT_TEXTS = Object.fromEntries(
  PAYMENT_TYPES.map((type) => [type, `ops.payment.${type}` satisfies MessageKey]),
);

const paymentState = ({ t }: Operator, payment: Payment): Html => {
  if (payment.rejected_at !== null)
    return html`<span class="badge">${t(message('ops.payment.rejected'))}</span>`;
  return payment.is_done
    ? html`<span class="badge good">${t(message('ops.payment.done'))}</span>`
    : html`<span class="badge waiting">${t(message('ops.payment.open'))}</span>`;
};

const paymentColumns = (operator: Operator): readonly Column<Payment>[] => [
  { label: 'ops.id', value: ({ id }) => String(id) },
  { label: 'ops.payment.type', value: ({ type }) => wordOf(operator.t, PAYMENT_TEXTS, type) },
  { label: 'ops.amount', value: ({ amount }) => amountOf(operator.t, amount), kind: 'number' },
  { label: 'ops.payment.state', value: (payment) => paymentState(operator, payment) },
  { label: 'ops.description', value: (payment) => descriptionOf(payment) },
  { label: 'ops.ref_number', value: ({ meta }) => meta?.ref_number ?? meta?.reference },
  { label: 'ops.created', value: ({ created_at: at }) => time(operator, at) },
];

/** Query parameters of the paged lists. */
const LISTS = ['payments', 'gyms', 'services', 'sessions'] as const;
const PER_PAGE = '10';

const listCard = async <Row>(
  operator: Operator,
  id: string,
  name: (typeof LISTS)[number],
  { path, columns, none }: { path: string; columns: readonly Column<Row>[]; none: MessageKey },
): Promise<Html> => {
  const { t, query } = operator;
  const body = await read(operator, `${path}per_page=${PER_PAGE}&page=${pageIn(query, name)}`);
  const pages = Object.fromEntries(LISTS.map((list) => [list, pageIn(query, list)]));
  return listOf(operator, {
    body,
    items: tableOf(t, columns, body.data as Row[]),
    none,
    label: `ops.member.${name}`,
    turn: turnByLink(operator, `${MEMBERS}/${id}`, name, pages),
  });
};

const moneyOf = async (operator: Operator, id: string): Promise<Html> => {
  const { t } = operator;
  const [{ balance }, payments] = await Promise.all([
    read(operator, `/payments/balance?user_id=${id}`),
    listCard<Payment>(operator, id, 'payments', {
      path: `/payments?user_id=${id}&`,
      columns: paymentColumns(operator),
      none: 'ops.member.payments.none',
    }),
  ]);
  return html`${factsOf(t, [['ops.member.balance', amountOf(t, balance)]])}${payments}`;
};

interface Gym {
  id: number;
  name: string | null;
  is_active: boolean;
  gym_license_image?: string | null;
  gym_license_approved?: boolean | null;
  created_at: string;
}

const activity = ({ t }: Operator, isActive: boolean): string =>
  t(message(isActive ? 'ops.member.shown' : 'ops.member.hidden'));

const hasLicense = ({ gym_license_image: image, gym_license_approved: approved }: Gym): boolean =>
  image != null || approved != null;

const gymLicense = ({ t }: Operator, gym: Gym): string => {
  const { gym_license_approved: approved } = gym;
  if (!hasLicense(gym)) return '';
  return t(message(`ops.license.${approved == null ? 'pending' : approved ? 'approved' : 'rejected'}`));
};

const gymName = (operator: Operator, gym: Gym): Html | string => {
  const { id, name } = gym;
  const text = name ?? idText(operator.t, id);
  if (!hasLicense(gym) || !can(operator.caller, 'gyms.approve_license')) return text;
  return html`<a href="${pathOf(operator, 'licenses', `&kind=gym&id=${id}`)}">${text}</a>`;
};

const gymColumns = (operator: Operator): readonly Column<Gym>[] => [
  { label: 'ops.member.name', value: (gym) => gymName(operator, gym) },
  { label: 'ops.id', value: ({ id }) => String(id) },
  { label: 'ops.member.state', value: ({ is_active: isActive }) => activity(operator, isActive) },
  { label: 'ops.member.license', value: (gym) => gymLicense(operator, gym) },
  { label: 'ops.created', value: ({ created_at: at }) => time(operator, at) },
];

interface Service {
  id: number;
  title: string;
  price: number;
  is_active: boolean;
  created_at: string;
}

const serviceColumns = (operator: Operator): readonly Column<Service>[] => [
  { label: 'ops.member.name', value: ({ title }) => title },
  { label: 'ops.id', value: ({ id }) => String(id) },
  { label: 'ops.member.price', value: ({ price }) => amountOf(operator.t, price), kind: 'number' },
  { label: 'ops.member.state', value: ({ is_active: isActive }) => activity(operator, isActive) },
  { label: 'ops.created', value: ({ created_at: at }) => time(operator, at) },
];

interface Session {
  id: number;
  name: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
  device: { platform: string; locale: string } | null;
}

/** Mirrors the rule of the API: only operators who manage roles may end the sessions of other operators. */
const mayEndSessions = ({ caller }: Operator, member: Member): boolean =>
  can(caller, 'users.update_any') &&
  member.id !== caller.userId &&
  (can(caller, 'roles.manage') || !isStaff(member));

const programOf = ({ t }: Operator, { name }: Session): string =>
  name ?? t(message('ops.member.program.unknown'));

/** Names that are the same in every language. */
const SYSTEMS: Readonly<Record<string, string>> = { android: 'Android', ios: 'iOS' };

const deviceOf = ({ t, locale }: Operator, { device }: Session): Html | null => {
  if (device === null) return null;
  const platform = SYSTEMS[device.platform] ?? wordOf(t, { web: 'ops.platform.web' }, device.platform);
  return html`${formatSeries(locale, [platform, formatLanguage(locale, device.locale)])}`;
};

const sessionColumns = (operator: Operator, member: Member): readonly Column<Session>[] => [
  { label: 'ops.member.program', value: (session) => programOf(operator, session) },
  { label: 'ops.member.address', value: ({ address }) => address },
  { label: 'ops.member.device', value: (session) => deviceOf(operator, session) },
  { label: 'ops.member.signed_in', value: ({ created_at: at }) => time(operator, at) },
  { label: 'ops.member.used', value: ({ last_used_at: at }) => time(operator, at) },
  ...(mayEndSessions(operator, member)
    ? [
        {
          label: 'ops.audit.action',
          value: ({ id }: Session) =>
            actionForm(operator, `${MEMBERS}/${member.id}`, {
              hidden: { session_id: id },
              buttons: [['end_session', message('ops.member.session.end'), 'danger']],
            }),
        } as const,
      ]
    : []),
];

interface Blocker extends Record<string, unknown> {
  code: string;
  message: string;
}

/** Describes a blocker to an operator. The text of the API addresses the member. */
const blockerText = ({ t }: Operator, blocker: Blocker): string => {
  const { code, message: text, ...extras } = blocker;
  if (!isBlockerCode(code)) return text;
  return t(message(`ops.blocker.${code}`, extras as Record<string, string | number>));
};

const deletionOf = async (operator: Operator, member: Member): Promise<Html> => {
  const { t, caller } = operator;
  const { id } = member;
  const blockers = await readBlockers(operator, id);
  if (blockers === undefined) return html`<p class="notice">${t(message('ops.member.delete.not_yours'))}</p>`;
  const warnings = await readWarnings(operator, member);
  const mayAct = blockers.length === 0 && id !== caller.userId;
  return html`${blockerList(operator, blockers)}
${warningList(operator, warnings)}
${
  mayAct &&
  actionForm(operator, `${MEMBERS}/${id}`, {
    hidden: {},
    buttons: [['delete', deleteLabel(member), 'danger']],
  })
}`;
};

const deleteLabel = ({ username }: Member): Message =>
  message('ops.member.delete', { username: isolate(username) });

/** Something to consider before the account is erased, although it blocks nothing. `count` is undefined if the operator may not see it. */
interface Warning {
  key: 'disputes' | 'refunds' | 'services';
  count: number | undefined;
  /** The section where the items are decided. */
  slug?: string;
}

const readWarnings = async (operator: Operator, { id }: Member): Promise<Warning[]> => {
  const seesMoney = can(operator.caller, 'payments.view_all');
  const count = async (list: string): Promise<number> =>
    (await countOf(operator, `${list}?user_id=${id}`)).count;
  const money = async (list: string): Promise<number | undefined> => (seesMoney ? count(list) : undefined);
  const [disputes, refunds, services] = await Promise.all([
    money('/payments/deposit/disputed'),
    money('/payments/store-purchases/refund-queue'),
    count('/training-services'),
  ]);
  const warnings: Warning[] = [
    { key: 'disputes', count: disputes, slug: 'disputes' },
    { key: 'refunds', count: refunds, slug: 'disputes' },
    { key: 'services', count: services },
  ];
  return warnings.filter((warning) => warning.count !== 0);
};

const warningList = (operator: Operator, warnings: readonly Warning[]): Html | false => {
  const { t, caller } = operator;
  const textOf = ({ key, count, slug }: Warning): Html => {
    const text = message(`ops.warning.${key}`, { count: count ?? 0 });
    if (slug === undefined || !can(caller, 'payments.resolve_disputes')) return html`${t(text)}`;
    return html`<a href="${pathOf(operator, slug)}">${t(text)}</a>`;
  };
  const counted = warnings.filter(({ count }) => count !== undefined);
  const isHidden = counted.length < warnings.length;
  const texts = [...counted.map(textOf), ...(isHidden ? [html`${t(message('ops.warning.hidden'))}`] : [])];
  return (
    texts.length > 0 &&
    html`<div class="notice waiting"><strong>${t(message('ops.warning'))}</strong>
<ul>${texts.map((text) => html`<li>${text}</li>\n`)}</ul></div>`
  );
};

/** The blockers of the account. Undefined if the operator may not delete it. */
const readBlockers = async (operator: Operator, id: number): Promise<Blocker[] | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/users/${id}/deletion-blockers` });
  if (status === 403) return undefined;
  if (status !== 200) throw unavailable(`/users/${id}/deletion-blockers answered ${status}`);
  return body.data as Blocker[];
};

const blockerList = (operator: Operator, blockers: readonly Blocker[]): Html => {
  const { t } = operator;
  const texts = blockers.map((blocker) => html`<li>${blockerText(operator, blocker)}</li>\n`);
  return blockers.length === 0
    ? html`<p>${t(message('ops.member.delete.free'))}</p>`
    : html`<p>${t(message('ops.member.delete.blocked'))}</p>
<ul class="cannot">${texts}</ul>`;
};

const historyOf = async (operator: Operator, id: string): Promise<Html> => {
  const { t } = operator;
  const body = await read(operator, `/audit-log?subject_type=user&subject_id=${id}&per_page=${PER_PAGE}`);
  const entries = body.data as Entry[];
  const names = await readAuditNames(operator, entries);
  const linkTo = (query: string, label: MessageKey): Html =>
    html`<a href="${pathOf(operator, 'audit-log', query)}">${t(message(label))}</a>`;
  return html`${auditTable(operator, entries, names) ?? emptyList(t, 'ops.none')}
<p class="row">${linkTo(`&subject_type=user&subject_id=${id}`, 'ops.member.history.all')}
${linkTo(`&actor_id=${id}`, 'ops.member.history.own')}</p>`;
};

/** The parts of the page. For an erased account, only its payments and its history. */
const cardsOf = (operator: Operator, id: string, member: Member | undefined): Promise<Html | false>[] => {
  const may = (...permissions: Permission[]): boolean =>
    permissions.every((permission) => can(operator.caller, permission));
  const part = (
    title: MessageKey,
    isShown: boolean,
    content: () => Promise<Html | false>,
  ): Promise<Html | false>[] => (isShown ? [partOf(operator, title, content)] : []);
  const ofLive = (
    title: MessageKey,
    isShown: boolean,
    content: (live: Member) => Promise<Html | false>,
  ): Promise<Html | false>[] => (member === undefined ? [] : part(title, isShown, () => content(member)));
  return [
    ...ofLive('ops.member.account', true, (live) => accountOf(operator, live)),
    ...part('ops.member.payments', may('payments.view_all'), () => moneyOf(operator, id)),
    ...ofLive('ops.member.subscription', true, async (live) => subscriptionOf(operator, live)),
    ...ofLive('ops.member.gyms', may('gyms.view_all'), () =>
      listCard<Gym>(operator, id, 'gyms', {
        path: `/gyms?user_id=${id}&`,
        columns: gymColumns(operator),
        none: 'ops.member.gyms.none',
      }),
    ),
    ...ofLive('ops.member.services', true, () =>
      listCard<Service>(operator, id, 'services', {
        path: `/training-services?user_id=${id}&`,
        columns: serviceColumns(operator),
        none: 'ops.member.services.none',
      }),
    ),
    ...ofLive('ops.member.sessions', true, (live) =>
      listCard<Session>(operator, id, 'sessions', {
        path: `/users/${id}/sessions?`,
        columns: sessionColumns(operator, live),
        none: 'ops.member.sessions.none',
      }),
    ),
    ...ofLive('ops.member.deletion', may('users.delete'), (live) => deletionOf(operator, live)),
    ...part('ops.member.history', may('audit.view'), () => historyOf(operator, id)),
  ];
};

interface Deletion {
  live: Member;
  blockers: readonly Blocker[];
  warnings: readonly Warning[];
}

const findDeletion = async (operator: Operator, id: string): Promise<Deletion | undefined> => {
  const live = await findMember(operator, id);
  const blockers = live && (await readBlockers(operator, live.id));
  return live && blockers && { live, blockers, warnings: await readWarnings(operator, live) };
};

const identityOf = (operator: Operator, live: Member): Html =>
  factsOf(operator.t, [
    ['ops.user', memberLink(operator, live)],
    ['ops.id', String(live.id)],
    ['ops.email', live.email],
    ['ops.phone', live.phone],
    ['ops.created', time(operator, live.created_at)],
  ]);

const deletionOfId = (id: string): Record<string, Action> =>
  decisionOf<Deletion>('delete', {
    slug: `${MEMBERS}/${id}`,
    find: (operator) => findDeletion(operator, id),
    confirmation: (operator, { live, blockers, warnings }) => ({
      title: message('ops.member.delete.title', { name: userName(live) }),
      facts: html`<p class="notice bad">${operator.t(message('ops.member.delete.lead'))}</p>
${identityOf(operator, live)}
${blockerList(operator, blockers)}
${warningList(operator, warnings)}`,
      repeated: [],
      state: [
        live.id,
        live.username,
        live.email,
        live.phone,
        ...warnings.map(({ key, count }) => `${key} ${count}`),
      ],
      button: blockers.length === 0 ? { label: deleteLabel(live), isDestructive: true } : undefined,
      back: { label: message('ops.back_to', { name: userName(live) }) },
    }),
    perform: async (operator) =>
      outcomeOf(await operator.api({ method: 'DELETE', path: `/users/${id}` }), 'deleted'),
  });

interface OpenSession {
  live: Member;
  session: Session;
}

const findSession = async (
  operator: Operator,
  id: string,
  sessionId: string | undefined,
): Promise<Session | undefined> => {
  const [session] = await findInList<Session>(operator, `/users/${id}/sessions`, sessionId);
  return String(session?.id) === sessionId ? session : undefined;
};

const sessionEndOfId = (id: string): Record<string, Action> =>
  decisionOf<OpenSession>('end_session', {
    slug: `${MEMBERS}/${id}`,
    find: async (operator, { session_id: sessionId }) => {
      const live = await findMember(operator, id);
      const session = live && (await findSession(operator, id, sessionId));
      return live && session && { live, session };
    },
    missing: message('ops.member.session.ended'),
    confirmation: (operator, { live, session }) => ({
      title: message('ops.member.session.title', { name: userName(live) }),
      lead: message('ops.member.session.lead'),
      facts: factsOf(operator.t, [
        ['ops.user', memberLink(operator, live)],
        ['ops.member.program', programOf(operator, session)],
        ['ops.member.address', session.address],
        ['ops.member.device', deviceOf(operator, session)],
        ['ops.member.signed_in', time(operator, session.created_at)],
        ['ops.member.used', time(operator, session.last_used_at)],
      ]),
      repeated: ['session_id'],
      state: [live.id, live.username, session.id],
      button: { label: message('ops.member.session.end'), isDestructive: true },
      back: { label: message('ops.back_to', { name: userName(live) }) },
    }),
    perform: async (operator, { session }) => {
      const path = `/users/${id}/sessions/${session.id}`;
      return outcomeOf(await operator.api({ method: 'DELETE', path }), 'ended', `&session=${session.id}`);
    },
  });

/** Creates an action for the member in the address. */
const onMember =
  (actionsOf: (id: string) => Record<string, Action>, name: string): Action =>
  async (operator, fields) => {
    const action = actionsOf(idIn(operator.query.id) ?? '0')[name];
    if (action === undefined) throw new Error(`no action ${name}`);
    return action(operator, fields);
  };

const doneOf = async (operator: Operator, done: Done): Promise<Message | undefined> => {
  const id = idIn(operator.query.id) ?? '0';
  const live = await findMember(operator, id);
  if (done === 'deleted')
    return live === undefined ? message('ops.done.deleted', { id: Number(id) }) : undefined;
  const sessionId = idIn(operator.query.session);
  if (done !== 'ended' || live === undefined || sessionId === undefined) return undefined;
  const isOpen = (await findSession(operator, id, sessionId)) !== undefined;
  return isOpen ? undefined : message('ops.done.session', { name: userName(live) });
};

export const member: Section = {
  slug: MEMBERS,
  title: 'ops.member',
  within: 'users',
  permissions: [['users.view_all']],
  show: async (operator) => {
    const id = idIn(operator.query.id) ?? '0';
    const live = await findMember(operator, id);
    const name = nameOf(operator, live ?? { id: Number(id) });
    return html`<div class="row"><h2>${name}</h2>${stateOf(operator, live)}</div>
${live === undefined && html`<p class="notice">${operator.t(message('ops.member.gone.lead'))}</p>`}
${await Promise.all(cardsOf(operator, id, live))}`;
  },
  actions: {
    delete: onMember(deletionOfId, 'delete'),
    confirm_delete: onMember(deletionOfId, 'confirm_delete'),
    end_session: onMember(sessionEndOfId, 'end_session'),
    confirm_end_session: onMember(sessionEndOfId, 'confirm_end_session'),
  },
  notice: doneOf,
};
