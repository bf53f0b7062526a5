/** Search for accounts, their roles, and the removal of a lost second factor. */
import { message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { inputOf } from '@fitness/shared/pages/views.ts';
import { call } from '../call.ts';
import {
  type Column,
  type Content,
  card,
  cell,
  facts,
  form,
  notice,
  type Text,
  table,
  userName,
  view,
} from '../content.ts';
import { decision, decisionsAbout } from '../decision.ts';
import { cursorIn, paged, pageIn } from '../list.ts';
import { type Results, type User, updateUser, user, users as usersCall, withMemberOfId } from '../members.ts';
import { idIn, type Operator } from '../operator.ts';
import {
  changeOf,
  checkbox,
  isStaff,
  permissionText,
  type Role,
  readRoles,
  rolesCall,
  roleTitle,
  roleTitles,
  without,
} from '../roles.ts';
import type { Section } from '../section.ts';

const removal = call('DELETE /users/{id}/second-factor', ['users.update_any']);

const COLUMNS: readonly Column<User>[] = [
  ['ops.user', (row) => cell.member(row)],
  ['ops.id', ({ id }) => String(id)],
  ['ops.email', ({ email }) => email],
  ['ops.phone', ({ phone }) => phone],
  [
    'ops.roles',
    ({ roles }) =>
      (operator: Operator) =>
        roleTitles(operator, roles),
  ],
  ['ops.created', ({ created_at: at }) => cell.time(at)],
];

/** The search results. They are paged by forms, because the search text must not be in an address. */
const resultsOf = ({ data, meta }: Results, search: string): Content => {
  const turnTo = (hidden: Record<string, string | number>, label: Text): Content =>
    form({ hidden: { search, ...hidden }, buttons: [['search', label, 'secondary']] });
  const rows = table(COLUMNS, data);
  const { total, last_page: last, next_cursor: cursor } = meta ?? {};
  if (last == null && cursor != null)
    return card(
      undefined,
      view`${rows}
<p class="notice" role="status">${message('ops.users.unfinished')}</p>
${turnTo({ cursor }, message('ops.next'))}`,
    );
  const turn = (page: number, label: Text): Content => turnTo({ page }, label);
  return card(
    undefined,
    view`${total != null && total > 0 && view`<p role="status">${message('ops.users.count', { count: total })}</p>`}
${paged({ meta, rows, none: 'ops.none', turn })}`,
  );
};

/** A form that posts, because an email or a phone number must not be in an address. */
const searchForm = (
  operator: Operator,
  { value, rank, isFocused = false }: { value?: string; rank?: 'secondary'; isFocused?: boolean } = {},
): Content => {
  const label = message('ops.users.search');
  const search = { name: 'search', label, autocomplete: 'off', isText: true, value, isFocused };
  const content = inputOf(operator, search);
  return card(undefined, form({ content, buttons: [['search', message('ops.users.find'), rank]] }));
};

const roleForm = async (operator: Operator, { id, roles = [] }: User): Promise<Content> => {
  const current = new Set(roles.map((role) => role.id));
  const boxes = (await readRoles(operator)).map((role) =>
    checkbox(`role_${role.id}`, current.has(role.id), roleTitle(operator.t, role)),
  );
  return form({
    query: { id },
    hidden: { user_id: id },
    content: view`<fieldset class="stack"><legend>${message('ops.roles')}</legend>
${boxes}</fieldset>`,
    buttons: [['save_roles', message('ops.role.change')]],
  });
};

/** The facts about a user. `hasRoles` is false if a form shows the roles. */
const identityOf = (row: User, hasRoles = true): Content =>
  facts([
    ['ops.id', String(row.id)],
    ['ops.email', row.email],
    ['ops.phone', row.phone !== undefined && view`<span dir="ltr">${row.phone}</span>`],
    ['ops.created', cell.time(row.created_at)],
    ['ops.roles', hasRoles && ((operator) => roleTitles(operator, row.roles))],
    ['ops.deletion_at', cell.time(row.deletion_scheduled_at)],
  ]);

const find = async (operator: Operator, { user_id: id }: Fields): Promise<User | undefined> =>
  (await user.find(operator, { id: idIn(id) ?? 0 }))?.user;

const detail = async (operator: Operator, id: string): Promise<Content> => {
  const row = await find(operator, { user_id: id });
  if (row === undefined) return notice(message('ops.none'));
  const mayChange = updateUser.isFor(operator);
  const managesRoles = rolesCall.isFor(operator);
  const mayChangeRoles = mayChange && managesRoles;
  const mayRemove =
    removal.isFor(operator) && (managesRoles || !isStaff(row)) && row.id !== operator.caller.userId;
  return card(
    cell.member(row),
    view`
${identityOf(row, !mayChangeRoles)}
${mayChangeRoles && (await roleForm(operator, row))}
${mayRemove && decisionsAbout(row, [secondFactorRemoval], { id: row.id })}`,
  );
};

const ROLE_FIELD = /^role_([1-9]\d{0,8})$/;
const roleFieldsIn = (fields: Fields): string[] =>
  Object.keys(fields)
    .filter((name) => ROLE_FIELD.test(name))
    .sort();
const roleIdsIn = (fields: Fields): number[] =>
  roleFieldsIn(fields).map((name) => Number(ROLE_FIELD.exec(name)?.[1]));

const idOf = ({ id }: Role): number => id;
const sortedIds = (roles: readonly Role[]): string => roles.map(idOf).sort().join();
const permissionsIn = (roles: readonly Role[]): Set<string> =>
  new Set(roles.flatMap(({ permissions }) => permissions));

/** The label of the button, which names the roles that change. */
const labelOf =
  (added: readonly Role[], removed: readonly Role[]): Text =>
  (operator) => {
    const [names, roles] = [roleTitles(operator, added), roleTitles(operator, removed)];
    if (roles === '') return message('ops.roles.add', { names });
    return names === ''
      ? message('ops.roles.remove', { roles })
      : message('ops.roles.change', { names, roles });
  };

/** An account with the roles that it gets. */
interface Assignment {
  row: User;
  ids: readonly number[];
  current: readonly Role[];
  chosen: readonly Role[];
}

const assignment = decision<Assignment>({
  name: 'save_roles',
  done: 'saved',
  of: ({ row: { id } }) => ({ id }),
  rank: 'danger',
  find: async (operator, fields) => {
    const row = await find(operator, fields);
    if (row === undefined) return undefined;
    const ids = roleIdsIn(fields);
    const all = await readRoles(operator);
    return { row, ids, current: row.roles ?? [], chosen: all.filter(({ id }) => ids.includes(id)) };
  },
  fields: ({ row: { id } }) => ({ user_id: id }),
  label: ({ current, chosen }) => labelOf(without(chosen, current, idOf), without(current, chosen, idOf)),
  confirmation: ({ row, ids, current, chosen }, { t }, fields) => {
    const isEmpty = sortedIds(current) === sortedIds(chosen);
    const titles = (roles: readonly Role[]): Content[] => roles.map((role) => roleTitle(t, role));
    const [before, after] = [permissionsIn(current), permissionsIn(chosen)];
    return {
      title: message('ops.roles.title', { name: userName(row) }),
      lead: message(isEmpty ? 'ops.role.same' : 'ops.roles.lead'),
      facts: [
        identityOf(row),
        changeOf(
          titles(without(chosen, current, idOf)),
          titles(without(current, chosen, idOf)),
          [...after].filter((name) => !before.has(name)).map(permissionText),
        ),
      ],
      repeated: roleFieldsIn(fields),
      state: [row.id, row.username, sortedIds(current), ids.join(), [...after].sort().join()],
      isEmpty,
      back: { query: { id: row.id }, label: message('ops.back_to', { name: userName(row) }) },
    };
  },
  perform: (operator, { row: { id }, ids }) =>
    updateUser.send(operator, { id, body: { role_ids: [...ids] } }),
});

/** Afterwards, the password alone is enough to sign in to this account. */
const secondFactorRemoval = decision<User>({
  name: 'remove_second_factor',
  done: 'removed',
  of: ({ id }) => ({ id }),
  rank: 'danger',
  find,
  fields: ({ id }) => ({ user_id: id }),
  label: () => message('ops.second_factor.remove'),
  confirmation: (row) => ({
    title: message('ops.second_factor.title', { name: userName(row) }),
    lead: message('ops.second_factor.lead'),
    facts: identityOf(row),
    state: [row.id, row.username, row.email, row.phone],
    back: { query: { id: row.id }, label: message('ops.back_to', { name: userName(row) }) },
  }),
  perform: (operator, { id }) => removal.send(operator, { id }),
});

export const users: Section = {
  slug: 'users',
  title: 'ops.users',
  needs: [[user]],
  show: async (operator) => {
    const id = idIn(operator.query.id);
    return id === undefined
      ? searchForm(operator, { isFocused: true })
      : [searchForm(operator, { rank: 'secondary' }), await detail(operator, id)];
  },
  actions: {
    search: async (operator, fields) => {
      const { search = '' } = fields;
      const cursor = cursorIn(fields);
      const position = cursor === undefined ? { page: pageIn(fields) } : { cursor };
      const answer = await usersCall.send(operator, { query: { search, per_page: 30, ...position } });
      if (answer.status !== 200) return { refused: answer };
      const results = await withMemberOfId(operator, answer.body as unknown as Results, search);
      return { shown: [searchForm(operator, { value: search }), resultsOf(results, search)] };
    },
  },
  decisions: [assignment, secondFactorRemoval],
  notice: async (operator, done) => {
    if (done !== 'saved' && done !== 'removed') return undefined;
    const row = await find(operator, { user_id: operator.query.id });
    if (row === undefined) return undefined;
    return message(done === 'saved' ? 'ops.done.roles' : 'ops.done.removed', { name: userName(row) });
  },
};
