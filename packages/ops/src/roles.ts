/** Roles and permissions in words. */
import type { Schemas } from '@fitness/client';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { formatList, type Translate } from '@fitness/shared/kernel/i18n/translate.ts';
import { isPermission, OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { call } from './call.ts';
import { type Content, view, wordOf } from './content.ts';
import type { Operator } from './operator.ts';

export type Role = Schemas['Role'];

export const rolesCall = call('GET /roles', ['roles.manage']);

/** Reads all roles, because a form with only some of them would remove the others from a user. */
export const readRoles = async (operator: Operator): Promise<Role[]> => {
  const roles: Role[] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data, meta } = await rolesCall.read(operator, { query: { per_page: 100, page } });
    roles.push(...data);
    last = meta?.last_page ?? 1;
  }
  return roles;
};

const SEEDED = new Map([
  ['member', 'Member'],
  ['operator', 'Operator'],
  ['administrator', 'Administrator'],
]);

/** The title in the language of the page, unless an operator has chosen another one. */
export const roleTitle = (t: Translate, { name, title }: Pick<Role, 'name' | 'title'>): string => {
  const word = SEEDED.get(name) === title ? wordOf(t, 'ops.role.name', name) : undefined;
  return word ?? title;
};

/** The titles in one text. */
export const roleTitles = ({ locale, t }: Operator, roles: readonly Role[] = []): string =>
  formatList(
    locale,
    roles.map((role) => roleTitle(t, role)),
  );

/** Whether the user is an operator, whose credentials only managers of roles may revoke. */
export const isStaff = ({ roles = [] }: { roles?: readonly Role[] }): boolean =>
  roles.some(({ permissions }) =>
    permissions.some((name) => (OPERATOR_PERMISSIONS as Set<string>).has(name)),
  );

/** The description of a permission, with its code on a second line. */
export const permissionText = (name: string): Content =>
  view`<span>${isPermission(name) && view`${message(`ops.permission.${name}`)}<br>`}<span class="code quiet" dir="ltr">${name}</span></span>`;

/** What a change adds and removes, each under its heading. `gained`: permissions that an account gains by a change of its roles. */
export const changeOf = (
  added: readonly Content[],
  removed: readonly Content[],
  gained: readonly Content[] = [],
): Content => {
  const listOf = (kind: 'can' | 'cannot', title: Message, names: readonly Content[]): Content =>
    names.length > 0 &&
    view`<h3>${title}</h3>
<ul class="${kind}">${names.map((name) => view`<li>${name}</li>\n`)}</ul>`;
  return view`${listOf('can', message('ops.role.added'), added)}
${listOf('cannot', message('ops.role.removed'), removed)}
${listOf('can', message('ops.roles.gained'), gained)}`;
};

/** The entries of `one` that `other` lacks. */
export const without = <Entry>(
  one: readonly Entry[],
  other: readonly Entry[],
  keyOf: (entry: Entry) => unknown = (entry) => entry,
): Entry[] => one.filter((entry) => !other.some((candidate) => keyOf(candidate) === keyOf(entry)));

export const checkbox = (name: string, isChecked: boolean, label: Content): Content =>
  view`<label class="row"><input type="checkbox" name="${name}" value="on"${isChecked && view` checked`}>${label}</label>\n`;
