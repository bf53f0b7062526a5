/** Roles and their permissions. A change is shown before it is made. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { isPermission, PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { formOf } from '@fitness/shared/pages/views.ts';
import { decisionOf } from '../decision.ts';
import { idIn, type Operator, outcomeOf, pathOf, read, type Section } from '../section.ts';

const SLUG = 'roles';

export interface Role {
  id: number;
  name: string;
  title: string;
  permissions: string[];
}

/** Reads all roles, because a form with only some of them would remove the others from a user. */
export const readRoles = async (operator: Operator): Promise<Role[]> => {
  const roles: Role[] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data, meta } = await read(operator, `/roles?per_page=100&page=${page}`);
    roles.push(...(data as Role[]));
    last = (meta as { last_page?: number } | undefined)?.last_page ?? 1;
  }
  return roles;
};

const SEEDED = { member: 'Member', operator: 'Operator', administrator: 'Administrator' } as const;
type Seeded = keyof typeof SEEDED;
const isSeeded = (name: string): name is Seeded => Object.hasOwn(SEEDED, name);

/** The title in the language of the page, unless an operator has chosen another one. */
export const roleTitle = (t: Translate, { name, title }: Pick<Role, 'name' | 'title'>): string =>
  isSeeded(name) && SEEDED[name] === title ? t(message(`ops.role.name.${name}`)) : title;

/** The description of a permission, with its code on a second line. */
export const permissionText = (t: Translate, name: string): Html =>
  html`<span>${isPermission(name) && html`${t(message(`ops.permission.${name}`))}<br>`}<span class="code quiet" dir="ltr">${name}</span></span>`;

/** Groups of permissions, by prefix. */
const GROUPS: readonly (readonly [title: MessageKey, prefixes: readonly string[]])[] = [
  ['ops.permissions.accounts', ['users', 'roles']],
  ['ops.member.gyms', ['gyms']],
  ['ops.permissions.posts', ['posts']],
  ['ops.member.services', ['training_services']],
  ['ops.member.payments', ['payments']],
  ['ops.title', ['audit', 'operations']],
];

const findRole = async (operator: Operator, id: string | undefined): Promise<Role | undefined> =>
  (await readRoles(operator)).find((role) => String(role.id) === idIn(id));

const FIELD = 'permission.';
const chosenIn = (fields: Fields): string[] => PERMISSIONS.filter((name) => fields[FIELD + name] === 'on');
const stateOf = ({ permissions }: Role): string => [...permissions].sort().join(' ');

const PROBLEM = 'permissions-problem';

/** API errors, shown at the permissions because the form has no other field. */
const problemsOf = ({ problem }: Operator): Html | false => {
  if (problem === undefined) return false;
  const texts = [problem.text, ...Object.values(problem.fields).flat()].filter((text) => text !== undefined);
  return html`<p class="problem" id="${PROBLEM}" role="alert">${texts.join(' ')}</p>`;
};

const editor = (operator: Operator, role: Role, chosen: readonly string[]): Html => {
  const { t, problem } = operator;
  const groups = GROUPS.map(([title, prefixes]) => {
    const names = PERMISSIONS.filter((name) => prefixes.includes(name.split('.')[0] ?? ''));
    const boxes = names.map(
      (name) =>
        html`<label class="row"><input type="checkbox" name="${FIELD}${name}" value="on"${chosen.includes(name) && html` checked`}>${permissionText(t, name)}</label>\n`,
    );
    return html`<fieldset class="stack"><legend>${t(message(title))}</legend>
${boxes}</fieldset>\n`;
  });
  const content = html`<input type="hidden" name="id" value="${role.id}">
<fieldset class="stack"${problem !== undefined && html` aria-describedby="${PROBLEM}"`}><legend class="silent">${t(message('ops.permissions'))}</legend>
${problemsOf(operator)}
<div class="grid">${groups}</div></fieldset>`;
  return html`<section class="card"><h2>${roleTitle(t, role)}</h2>
${formOf(operator, pathOf(operator, SLUG, `&id=${role.id}`), content, [['change', message('ops.role.change')]])}
<p><a href="${pathOf(operator, SLUG)}">${t(message('ops.role.all'))}</a></p></section>`;
};

const addedTo = (role: Role, chosen: readonly string[]): string[] =>
  chosen.filter((name) => !role.permissions.includes(name));
const removedFrom = (role: Role, chosen: readonly string[]): string[] =>
  role.permissions.filter((name) => !chosen.includes(name));

/** The label of the button, which counts the changes. */
const buttonOf = (role: Role, chosen: readonly string[]): Message => {
  const [added, removed] = [addedTo(role, chosen).length, removedFrom(role, chosen).length];
  if (removed === 0) return message('ops.role.confirm.add', { count: added });
  if (added === 0) return message('ops.role.confirm.remove', { count: removed });
  return message('ops.role.confirm.both', { added, removed });
};

const changeOf = ({ t }: Operator, role: Role, chosen: readonly string[]): Html => {
  const list = (kind: 'can' | 'cannot', title: MessageKey, names: readonly string[]): Html | false =>
    names.length > 0 &&
    html`<h3>${t(message(title))}</h3>
<ul class="${kind}">${names.map((name) => html`<li>${permissionText(t, name)}</li>\n`)}</ul>`;
  return html`${list('can', 'ops.role.added', addedTo(role, chosen))}
${list('cannot', 'ops.role.removed', removedFrom(role, chosen))}`;
};

const change = decisionOf<Role>('change', {
  slug: SLUG,
  find: (operator, { id }) => findRole(operator, id),
  confirmation: (operator, role, fields) => {
    const chosen = chosenIn(fields);
    const isSame = stateOf(role) === [...chosen].sort().join(' ');
    return {
      title: message('ops.role.title', { role: roleTitle(operator.t, role) }),
      lead: message(isSame ? 'ops.role.same' : 'ops.role.question'),
      facts: changeOf(operator, role, chosen),
      repeated: ['id', ...chosen.map((name) => FIELD + name)],
      state: [role.id, stateOf(role), ...chosen],
      button: isSame ? undefined : { label: buttonOf(role, chosen), isDestructive: true },
      back: { query: `&id=${role.id}`, label: message('ops.role.back') },
    };
  },
  perform: async (operator, { id }, fields) => {
    const permissions = chosenIn(fields);
    const answer = await operator.api({ method: 'PUT', path: `/roles/${id}`, body: { permissions } });
    return outcomeOf(answer, 'saved', `&id=${id}`);
  },
});

export const roles: Section = {
  slug: SLUG,
  title: 'ops.roles',
  permissions: [['roles.manage']],
  showsProblems: true,
  show: async (operator) => {
    const { t, query, sent } = operator;
    const all = await readRoles(operator);
    const role = all.find(({ id }) => String(id) === query.id);
    if (role !== undefined)
      return editor(operator, role, sent === undefined ? role.permissions : chosenIn(sent));
    const items = all.map(
      (role) =>
        html`<li><a href="${pathOf(operator, SLUG, `&id=${role.id}`)}">${roleTitle(t, role)}</a>
<span class="quiet">${t(message('ops.role.count', { count: role.permissions.length }))}</span></li>\n`,
    );
    return html`<section class="card">${problemsOf(operator)}<ul class="items" role="list">${items}</ul></section>`;
  },
  actions: change,
  notice: async (operator, done) => {
    const role = done === 'saved' ? await findRole(operator, operator.query.id) : undefined;
    return role && message('ops.done.role', { role: roleTitle(operator.t, role) });
  },
};
