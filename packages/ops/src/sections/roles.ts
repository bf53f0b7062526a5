/** Roles and their permissions. A change is shown before it is made. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { call } from '../call.ts';
import { type Content, card, form, link, view } from '../content.ts';
import { decision } from '../decision.ts';
import { itemsOf } from '../list.ts';
import { idIn, type Operator } from '../operator.ts';
import {
  changeOf,
  checkbox,
  permissionText,
  type Role,
  readRoles,
  rolesCall,
  roleTitle,
  without,
} from '../roles.ts';
import type { Section } from '../section.ts';

const SLUG = 'roles';
const update = call('PUT /roles/{id}', ['roles.manage'], ['permissions']);

/** Groups of permissions, by prefix. */
const GROUPS: readonly (readonly [title: MessageKey, prefixes: readonly string[]])[] = [
  ['ops.permissions.accounts', ['users', 'roles']],
  ['ops.member.gyms', ['gyms']],
  ['ops.permissions.posts', ['posts']],
  ['ops.member.services', ['training_services']],
  ['ops.member.payments', ['payments']],
  ['ops.title', ['audit', 'operations']],
];

const find = async (operator: Operator, id: string | undefined): Promise<Role | undefined> =>
  (await readRoles(operator)).find((role) => String(role.id) === idIn(id));

const FIELD = 'permission.';
const chosenIn = (fields: Fields): Permission[] =>
  PERMISSIONS.filter((name) => fields[FIELD + name] === 'on');
const sorted = (names: readonly string[]): string => [...names].sort().join(' ');

const PROBLEM = 'permissions-problem';

/** API errors, shown at the permissions because the form has no other field. */
const problemsOf = ({ problem }: Operator): Content => {
  if (problem === undefined) return undefined;
  const texts = [problem.text, ...Object.values(problem.fields).flat()].filter((text) => text !== undefined);
  return view`<p class="problem" id="${PROBLEM}" role="alert">${texts.join(' ')}</p>`;
};

const editor = (operator: Operator, role: Role, chosen: readonly string[]): Content => {
  const groups = GROUPS.map(([title, prefixes]) => {
    const names = PERMISSIONS.filter((name) => prefixes.includes(name.split('.')[0] ?? ''));
    return view`<fieldset class="stack"><legend>${message(title)}</legend>
${names.map((name) => checkbox(FIELD + name, chosen.includes(name), permissionText(name)))}</fieldset>\n`;
  });
  const content = view`<fieldset class="stack"${operator.problem !== undefined && view` aria-describedby="${PROBLEM}"`}><legend class="silent">${message('ops.permissions')}</legend>
${problemsOf(operator)}
<div class="grid">${groups}</div></fieldset>`;
  return card(
    roleTitle(operator.t, role),
    view`
${form({ query: { id: role.id }, hidden: { id: role.id }, content, buttons: [['change', message('ops.role.change')]] })}
<p>${link(message('ops.role.all'), SLUG)}</p>`,
  );
};

/** The label of the button, which counts the changes. */
const labelOf = ({ permissions }: Role, chosen: readonly string[]): Message => {
  const added = without(chosen, permissions).length;
  const removed = without(permissions, chosen).length;
  if (removed === 0) return message('ops.role.confirm.add', { count: added });
  if (added === 0) return message('ops.role.confirm.remove', { count: removed });
  return message('ops.role.confirm.both', { added, removed });
};

const change = decision<Role>({
  name: 'change',
  done: 'saved',
  of: ({ id }) => ({ id }),
  rank: 'danger',
  find: (operator, { id }) => find(operator, id),
  fields: ({ id }) => ({ id }),
  label: (role, fields) => labelOf(role, chosenIn(fields)),
  confirmation: (role, { t }, fields) => {
    const chosen = chosenIn(fields);
    const isEmpty = sorted(role.permissions) === sorted(chosen);
    return {
      title: message('ops.role.title', { role: roleTitle(t, role) }),
      lead: message(isEmpty ? 'ops.role.same' : 'ops.role.question'),
      facts: changeOf(
        without(chosen, role.permissions).map(permissionText),
        without(role.permissions, chosen).map(permissionText),
      ),
      repeated: chosen.map((name) => FIELD + name),
      state: [role.id, sorted(role.permissions), ...chosen],
      isEmpty,
      back: { query: { id: role.id }, label: message('ops.role.back') },
    };
  },
  perform: (operator, { id }, fields) =>
    update.send(operator, { id, body: { permissions: chosenIn(fields) } }),
});

export const roles: Section = {
  slug: SLUG,
  title: 'ops.roles',
  needs: [[rolesCall, update]],
  showsProblems: true,
  show: async (operator) => {
    const { t, query, sent } = operator;
    const all = await readRoles(operator);
    const role = all.find(({ id }) => String(id) === query.id);
    if (role !== undefined)
      return editor(operator, role, sent === undefined ? role.permissions : chosenIn(sent));
    const items = all.map(
      (one) => view`${link(roleTitle(t, one), SLUG, { id: one.id })}
<span class="quiet">${message('ops.role.count', { count: one.permissions.length })}</span>`,
    );
    return card(undefined, [problemsOf(operator), itemsOf(items)]);
  },
  decisions: [change],
  notice: async (operator, done) => {
    const role = done === 'saved' ? await find(operator, operator.query.id) : undefined;
    return role && message('ops.done.role', { role: roleTitle(operator.t, role) });
  },
};
