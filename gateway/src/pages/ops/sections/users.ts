/** Accounts: their roles, and the removal of a lost second factor. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { formOf, inputOf, time } from '../../views.ts';
import {
  actionForm,
  type Column,
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
import { type Role, readRoles } from './roles.ts';

const SLUG = 'users';
const REMOVAL = 'ops.second_factor.remove';

interface User {
  id: number;
  username: string;
  email?: string;
  phone?: string;
  created_at: string;
  roles?: Role[];
  deletion_scheduled_at?: string | null;
}

/** Whose second factor only who manages roles removes. */
const isStaff = ({ roles = [] }: User): boolean =>
  roles.some(({ permissions }) =>
    permissions.some((name) => (OPERATOR_PERMISSIONS as Set<string>).has(name)),
  );

const rolesOf = ({ roles = [] }: User): string => roles.map(({ title }) => title).join(', ');

const columnsOf = (operator: Operator): readonly Column<User>[] => [
  {
    label: 'ops.user',
    value: (user) => html`<a href="${pathOf(operator, SLUG, `&id=${user.id}`)}">${userName(user)}</a>`,
  },
  { label: 'ops.id', value: ({ id }) => id },
  { label: 'ops.email', value: ({ email }) => email },
  { label: 'ops.phone', value: ({ phone }) => phone },
  { label: 'ops.roles', value: rolesOf },
  { label: 'ops.created', value: ({ created_at: at }) => time(at) },
];

/** Its pages are turned by forms: what was searched must not be in an address. */
const resultsOf = (operator: Operator, body: Record<string, unknown>, search: string): Html => {
  const { t } = operator;
  const turn = (to: number, label: Message): Html => {
    const hidden = html`<input type="hidden" name="search" value="${search}">
<input type="hidden" name="page" value="${to}">`;
    return formOf(operator, pathOf(operator, SLUG), hidden, [['search', label]]);
  };
  const items = tableOf(t, columnsOf(operator), body.data as User[]);
  return html`<section class="card">${listOf(operator, { body, items, none: 'ops.none', turn })}</section>`;
};

/** What is searched may be an e-mail or a phone number, which must not be in an address. */
const searchForm = (operator: Operator): Html => {
  const search = { name: 'search', label: message('ops.users.search'), autocomplete: 'off', isText: true };
  return html`<section class="card">${formOf(operator, pathOf(operator, SLUG), inputOf(operator, search), [
    ['search', message('ops.users.find')],
  ])}</section>`;
};

const roleForm = async (operator: Operator, user: User): Promise<Html> => {
  const { t } = operator;
  const held = new Set((user.roles ?? []).map(({ id }) => id));
  const boxes = (await readRoles(operator)).map(
    ({ id, title }) =>
      html`<label class="row"><input type="checkbox" name="role_${id}" value="on"${held.has(id) && html` checked`}>${title}</label>\n`,
  );
  const content = html`<input type="hidden" name="user_id" value="${user.id}">
<fieldset class="stack"><legend>${t(message('ops.roles'))}</legend>
${boxes}</fieldset>`;
  return formOf(operator, pathOf(operator, SLUG, `&id=${user.id}`), content, [
    ['save_roles', message('ops.roles.save')],
  ]);
};

const identityOf = ({ t }: Operator, user: User): Html =>
  factsOf(t, [
    ['ops.id', user.id],
    ['ops.email', user.email],
    ['ops.phone', user.phone === undefined ? null : html`<span dir="ltr">${user.phone}</span>`],
    ['ops.created', time(user.created_at)],
    ['ops.roles', rolesOf(user)],
    ['ops.deletion_at', user.deletion_scheduled_at == null ? null : time(user.deletion_scheduled_at)],
  ]);

const detail = async (operator: Operator, id: string): Promise<Html> => {
  const { t, caller } = operator;
  const answer = await operator.api({ method: 'GET', path: `/users/${id}` });
  if (answer.status !== 200) return emptyList(t, 'ops.none');
  const user = answer.body.user as User;
  const mayChange = can(caller, 'users.update_any');
  const managesRoles = can(caller, 'roles.manage');
  const mayRemove = mayChange && (managesRoles || !isStaff(user)) && user.id !== caller.userId;
  return html`<section class="card"><h2>${userName(user)}</h2>
${identityOf(operator, user)}
${mayChange && managesRoles && (await roleForm(operator, user))}
${
  mayRemove &&
  actionForm(operator, SLUG, {
    hidden: { user_id: user.id },
    query: `&id=${user.id}`,
    buttons: [['remove_second_factor', message(REMOVAL), 'secondary']],
  })
}</section>`;
};

/** Shown first: afterwards the password alone is enough for a log-in to this account. */
const removalOf = (operator: Operator, user: User): Html => {
  const query = `&id=${user.id}`;
  return html`<section class="card"><h2>${operator.t(message(REMOVAL))}</h2>
${identityOf(operator, user)}
${actionForm(operator, SLUG, {
  hidden: { user_id: user.id },
  query,
  buttons: [['confirm_removal', message(REMOVAL)]],
})}
<p><a href="${pathOf(operator, SLUG, query)}">${userName(user)}</a></p></section>`;
};

const queryOf = (id: string | undefined): string => `&id=${idIn(id) ?? 0}`;

export const users: Section = {
  slug: SLUG,
  title: 'ops.users',
  permissions: [['users.view_all']],
  show: async (operator) => {
    const id = idIn(operator.query.id);
    return html`${searchForm(operator)}${id !== undefined && (await detail(operator, id))}`;
  },
  actions: {
    search: async (operator, fields) => {
      const { search = '' } = fields;
      const path = `/users?${new URLSearchParams({ search, per_page: '30', page: pageIn(fields) })}`;
      const answer = await operator.api({ method: 'GET', path });
      if (answer.status !== 200) return { refused: answer };
      return { found: html`${searchForm(operator)}${resultsOf(operator, answer.body, search)}` };
    },
    save_roles: async (operator, fields) => {
      const role_ids = Object.keys(fields).flatMap((name) => {
        const id = /^role_(\d{1,9})$/.exec(name)?.[1];
        return id === undefined ? [] : [Number(id)];
      });
      const path = `/users/${idIn(fields.user_id) ?? 0}`;
      const answer = await operator.api({ method: 'PUT', path, body: { role_ids } });
      return outcomeOf(answer, 'saved', queryOf(fields.user_id));
    },
    remove_second_factor: async (operator, { user_id: id }) => {
      const answer = await operator.api({ method: 'GET', path: `/users/${idIn(id) ?? 0}` });
      if (answer.status !== 200) return { refused: answer };
      return { found: removalOf(operator, answer.body.user as User) };
    },
    confirm_removal: async (operator, { user_id: id }) => {
      const path = `/users/${idIn(id) ?? 0}/second-factor`;
      return outcomeOf(await operator.api({ method: 'DELETE', path }), 'removed', queryOf(id));
    },
  },
};
