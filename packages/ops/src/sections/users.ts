/** Search for accounts, their roles, and the removal of a lost second factor. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatList } from '@fitness/shared/kernel/i18n/translate.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { formOf, inputOf, time } from '@fitness/shared/pages/views.ts';
import { decisionOf } from '../decision.ts';
import { memberLink, withMemberOfId } from '../members.ts';
import {
  actionForm,
  type Column,
  cursorIn,
  emptyList,
  factsOf,
  idIn,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  pathOf,
  type Section,
  tableOf,
  userName,
} from '../section.ts';
import { permissionText, type Role, readRoles, roleTitle } from './roles.ts';

const SLUG = 'users';

interface User {
  id: number;
  username: string;
  email?: string;
  phone?: string;
  created_at: string;
  roles?: Role[];
  deletion_scheduled_at?: string | null;
}

/** Whether the user is an operator, whose second factor only managers of roles may remove. */
export const isStaff = ({ roles = [] }: Pick<User, 'roles'>): boolean =>
  roles.some(({ permissions }) =>
    permissions.some((name) => (OPERATOR_PERMISSIONS as Set<string>).has(name)),
  );

const titlesOf = ({ locale, t }: Operator, roles: readonly Role[]): string =>
  formatList(
    locale,
    roles.map((role) => roleTitle(t, role)),
  );

const columnsOf = (operator: Operator): readonly Column<User>[] => [
  { label: 'ops.user', value: (user) => memberLink(operator, user) },
  { label: 'ops.id', value: ({ id }) => String(id) },
  { label: 'ops.email', value: ({ email }) => email },
  { label: 'ops.phone', value: ({ phone }) => phone },
  { label: 'ops.roles', value: ({ roles = [] }) => titlesOf(operator, roles) },
  { label: 'ops.created', value: ({ created_at: at }) => time(operator, at) },
];

interface ResultsMeta {
  total?: number | null;
  /** Null if the API has not counted the results, which then have only a cursor. */
  last_page?: number | null;
  next_cursor?: string | null;
}

/** The search results. They are paged by forms, because the search text must not be in an address. */
const resultsOf = (operator: Operator, body: Record<string, unknown>, search: string): Html => {
  const { t } = operator;
  const turnTo = (name: 'page' | 'cursor', to: number | string, label: Message): Html => {
    const hidden = html`<input type="hidden" name="search" value="${search}">
<input type="hidden" name="${name}" value="${to}">`;
    return formOf(operator, pathOf(operator, SLUG), hidden, [['search', label, 'secondary']]);
  };
  const items = tableOf(t, columnsOf(operator), body.data as User[]);
  const { total, last_page: last, next_cursor: next } = (body.meta ?? {}) as ResultsMeta;
  if (last == null && next != null)
    return html`<section class="card">${items}
<p class="notice" role="status">${t(message('ops.users.unfinished'))}</p>
${turnTo('cursor', next, message('ops.next'))}</section>`;
  const turn = (to: number, label: Message): Html => turnTo('page', to, label);
  return html`<section class="card">${total != null && total > 0 && html`<p role="status">${t(message('ops.users.count', { count: total }))}</p>`}
${listOf(operator, { body, items, none: 'ops.none', turn })}</section>`;
};

/** A form that posts, because an email or a phone number must not be in an address. */
const searchForm = (
  operator: Operator,
  { value, rank, isFocused = false }: { value?: string; rank?: 'secondary'; isFocused?: boolean } = {},
): Html => {
  const button = ['search', message('ops.users.find')] as const;
  const label = message('ops.users.search');
  const search = { name: 'search', label, autocomplete: 'off', isText: true, value, isFocused };
  return html`<section class="card">${formOf(operator, pathOf(operator, SLUG), inputOf(operator, search), [
    rank === undefined ? button : [...button, rank],
  ])}</section>`;
};

const roleForm = async (operator: Operator, user: User): Promise<Html> => {
  const { t } = operator;
  const current = new Set((user.roles ?? []).map(({ id }) => id));
  const boxes = (await readRoles(operator)).map(
    (role) =>
      html`<label class="row"><input type="checkbox" name="role_${role.id}" value="on"${current.has(role.id) && html` checked`}>${roleTitle(t, role)}</label>\n`,
  );
  const content = html`<input type="hidden" name="user_id" value="${user.id}">
<fieldset class="stack"><legend>${t(message('ops.roles'))}</legend>
${boxes}</fieldset>`;
  return formOf(operator, pathOf(operator, SLUG, `&id=${user.id}`), content, [
    ['save_roles', message('ops.role.change')],
  ]);
};

/** The facts about a user. `hasRoles` is false if a form shows the roles. */
const identityOf = (operator: Operator, user: User, hasRoles = true): Html =>
  factsOf(operator.t, [
    ['ops.id', String(user.id)],
    ['ops.email', user.email],
    ['ops.phone', user.phone === undefined ? null : html`<span dir="ltr">${user.phone}</span>`],
    ['ops.created', time(operator, user.created_at)],
    ['ops.roles', hasRoles ? titlesOf(operator, user.roles ?? []) : null],
    [
      'ops.deletion_at',
      user.deletion_scheduled_at == null ? null : time(operator, user.deletion_scheduled_at),
    ],
  ]);

const detail = async (operator: Operator, id: string): Promise<Html> => {
  const { t, caller } = operator;
  const answer = await operator.api({ method: 'GET', path: `/users/${id}` });
  if (answer.status !== 200) return emptyList(t, 'ops.none');
  const user = answer.body.user as User;
  const mayChange = can(caller, 'users.update_any');
  const managesRoles = can(caller, 'roles.manage');
  const mayChangeRoles = mayChange && managesRoles;
  const mayRemove = mayChange && (managesRoles || !isStaff(user)) && user.id !== caller.userId;
  return html`<section class="card"><h2>${memberLink(operator, user)}</h2>
${identityOf(operator, user, !mayChangeRoles)}
${mayChangeRoles && (await roleForm(operator, user))}
${
  mayRemove &&
  actionForm(operator, SLUG, {
    hidden: { user_id: user.id },
    query: `&id=${user.id}`,
    buttons: [['remove_second_factor', message('ops.second_factor.remove'), 'danger']],
  })
}</section>`;
};

const findUser = async (operator: Operator, { user_id: id }: Fields): Promise<User | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: `/users/${idIn(id) ?? 0}` });
  return status === 200 ? (body.user as User) : undefined;
};

const ROLE_FIELD = /^role_([1-9]\d{0,8})$/;
const roleFieldsIn = (fields: Fields): string[] =>
  Object.keys(fields)
    .filter((name) => ROLE_FIELD.test(name))
    .sort();
const roleIdsIn = (fields: Fields): number[] =>
  roleFieldsIn(fields).map((name) => Number(ROLE_FIELD.exec(name)?.[1]));

const permissionsIn = (roles: readonly Role[]): Set<string> =>
  new Set(roles.flatMap(({ permissions }) => permissions));

/** The roles that `one` has and `other` lacks. */
const without = (one: readonly Role[], other: readonly Role[]): Role[] =>
  one.filter((role) => other.every(({ id }) => id !== role.id));

/** The added and removed roles, and the permissions that the account gains. */
const roleChange = ({ t }: Operator, current: readonly Role[], chosen: readonly Role[]): Html => {
  const list = (kind: 'can' | 'cannot', title: MessageKey, names: readonly Html[]): Html | false =>
    names.length > 0 &&
    html`<h3>${t(message(title))}</h3>
<ul class="${kind}">${names.map((name) => html`<li>${name}</li>\n`)}</ul>`;
  const titles = (roles: readonly Role[]): Html[] => roles.map((role) => html`${roleTitle(t, role)}`);
  const before = permissionsIn(current);
  const gained = [...permissionsIn(chosen)].filter((name) => !before.has(name));
  return html`${list('can', 'ops.role.added', titles(without(chosen, current)))}
${list('cannot', 'ops.role.removed', titles(without(current, chosen)))}
${list(
  'can',
  'ops.roles.gained',
  gained.map((name) => permissionText(t, name)),
)}`;
};

/** The label of the button, which names the roles that change. */
const roleButton = (operator: Operator, current: readonly Role[], chosen: readonly Role[]): Message => {
  const [names, roles] = [
    titlesOf(operator, without(chosen, current)),
    titlesOf(operator, without(current, chosen)),
  ];
  if (roles === '') return message('ops.roles.add', { names });
  return names === ''
    ? message('ops.roles.remove', { roles })
    : message('ops.roles.change', { names, roles });
};

const saveRoles = decisionOf<User>('save_roles', {
  slug: SLUG,
  find: findUser,
  confirmation: async (operator, user, fields) => {
    const current = user.roles ?? [];
    const ids = roleIdsIn(fields);
    const all = await readRoles(operator);
    const chosen = all.filter(({ id }) => ids.includes(id));
    const currentIds = current.map(({ id }) => id).sort();
    const isSame =
      currentIds.join() ===
      chosen
        .map(({ id }) => id)
        .sort()
        .join();
    return {
      title: message('ops.roles.title', { name: userName(user) }),
      lead: message(isSame ? 'ops.role.same' : 'ops.roles.lead'),
      facts: html`${identityOf(operator, user)}${roleChange(operator, current, chosen)}`,
      repeated: ['user_id', ...roleFieldsIn(fields)],
      state: [
        user.id,
        user.username,
        currentIds.join(),
        ids.join(),
        [...permissionsIn(chosen)].sort().join(),
      ],
      button: isSame ? undefined : { label: roleButton(operator, current, chosen), isDestructive: true },
      back: { query: `&id=${user.id}`, label: message('ops.back_to', { name: userName(user) }) },
    };
  },
  perform: async (operator, { id }, fields) => {
    const role_ids = roleIdsIn(fields);
    const answer = await operator.api({ method: 'PUT', path: `/users/${id}`, body: { role_ids } });
    return outcomeOf(answer, 'saved', `&id=${id}`);
  },
});

/** Afterwards, the password alone is enough to sign in to this account. */
const removeSecondFactor = decisionOf<User>('remove_second_factor', {
  slug: SLUG,
  find: findUser,
  confirmation: (operator, user) => ({
    title: message('ops.second_factor.title', { name: userName(user) }),
    lead: message('ops.second_factor.lead'),
    facts: identityOf(operator, user),
    repeated: ['user_id'],
    state: [user.id, user.username, user.email, user.phone],
    button: { label: message('ops.second_factor.remove'), isDestructive: true },
    back: { query: `&id=${user.id}`, label: message('ops.back_to', { name: userName(user) }) },
  }),
  perform: async (operator, { id }) => {
    const answer = await operator.api({ method: 'DELETE', path: `/users/${id}/second-factor` });
    return outcomeOf(answer, 'removed', `&id=${id}`);
  },
});

export const users: Section = {
  slug: SLUG,
  title: 'ops.users',
  permissions: [['users.view_all']],
  show: async (operator) => {
    const id = idIn(operator.query.id);
    return id === undefined
      ? searchForm(operator, { isFocused: true })
      : html`${searchForm(operator, { rank: 'secondary' })}${await detail(operator, id)}`;
  },
  actions: {
    search: async (operator, fields) => {
      const { search = '' } = fields;
      const cursor = cursorIn(fields);
      const position: Record<string, string> = cursor === undefined ? { page: pageIn(fields) } : { cursor };
      const path = `/users?${new URLSearchParams({ search, per_page: '30', ...position })}`;
      const answer = await operator.api({ method: 'GET', path });
      if (answer.status !== 200) return { refused: answer };
      const body = await withMemberOfId(operator, answer.body, search);
      return { shown: html`${searchForm(operator, { value: search })}${resultsOf(operator, body, search)}` };
    },
    ...saveRoles,
    ...removeSecondFactor,
  },
  notice: async (operator, done) => {
    if (done !== 'saved' && done !== 'removed') return undefined;
    const user = await findUser(operator, { user_id: operator.query.id });
    if (user === undefined) return undefined;
    return message(done === 'saved' ? 'ops.done.roles' : 'ops.done.removed', { name: userName(user) });
  },
};
