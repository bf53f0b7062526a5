/**
 * Licenses of gyms and trainers that nobody has reviewed, and those whose name has changed since. The document is shown
 * beside the buttons.
 */

import { can } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { OPS_PATH } from '../../../request/page-paths.ts';
import type { Fields } from '../../form-pages.ts';
import { problemOf } from '../../views.ts';
import { memberLink, readNames } from '../members.ts';
import {
  type ActionResult,
  actionForm,
  countOf,
  emptyList,
  factsOf,
  gone,
  idIn,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  pathOf,
  read,
  type Section,
  turnByLink,
  userName,
} from '../section.ts';

const SLUG = 'licenses';
const IMAGE = /\.(?:jpe?g|png|webp|gif)$/i;

/** Where licenses are, and the names of their fields. */
interface Kind {
  name: 'gym' | 'trainer';
  /** The parameter of the address with the page of its list. */
  pages: 'gyms' | 'trainers';
  list: string;
  /** The parameter of the list that names one of its rows. */
  one: string;
  path: (id: string) => string;
  wrapper: string;
  prefix: string;
  /** All of them, to see and to review it. */
  permissions: readonly Permission[];
  titleOf: (owner: Owner) => string;
}

type Owner = Record<string, unknown> & { id: number };

const KINDS: readonly Kind[] = [
  {
    name: 'gym',
    pages: 'gyms',
    list: '/gyms/license-reviews',
    one: 'gym_id',
    path: (id) => `/gyms/${id}`,
    wrapper: 'gym',
    prefix: 'gym_license',
    permissions: ['gyms.view_all', 'gyms.approve_license'],
    titleOf: ({ name, id }) => String(name ?? `#${id}`),
  },
  {
    name: 'trainer',
    pages: 'trainers',
    list: '/users/license-reviews',
    one: 'user_id',
    path: (id) => `/users/${id}`,
    wrapper: 'user',
    prefix: 'trainer_license',
    permissions: ['users.view_all', 'users.update_any'],
    titleOf: userName,
  },
];

const title = ({ t }: Operator, { name, titleOf }: Kind, owner: Owner): string =>
  t(message(`ops.license.${name}`, { name: titleOf(owner) }));

interface NameChange {
  id: number;
  reviewed_name: string | null;
}

/** The name that the license of this owner was reviewed for, if it has changed since. */
const reviewedName = (
  { t }: Operator,
  list: { meta?: { name_changes?: NameChange[] } },
  { id }: Owner,
): string | undefined => {
  const change = list.meta?.name_changes?.find((one) => one.id === id);
  return change && (change.reviewed_name ?? t(message('ops.license.no_name')));
};

/** `/api/v1/media/<id>/<filename>`; undefined without a document. */
const mediaIdOf = ({ prefix }: Kind, owner: Owner): string | undefined =>
  /\/media\/(\d+)\//.exec(String(owner[`${prefix}_link`]))?.[1];

const documentOf = ({ t }: Operator, { prefix }: Kind, owner: Owner, mediaId: string): Html => {
  const address = `${OPS_PATH}/documents/${mediaId}`;
  const filename = String(owner[`${prefix}_image`]);
  return html`<div class="stack">
${IMAGE.test(filename) && html`<img class="document" src="${address}" alt="${t(message('ops.license.document', { filename }))}">`}
<p><a href="${address}">${t(message('ops.license.open', { filename }))}</a></p>
</div>`;
};

/** Who holds the license: the trainer, or the owner of the gym. */
const holderOf = async (operator: Operator, { name }: Kind, owner: Owner): Promise<Html | null> => {
  if (name === 'trainer') return memberLink(operator, owner);
  const { user_id: id } = owner as { user_id?: number | null };
  return id == null ? null : memberLink(operator, (await readNames(operator, [id])).get(id), id);
};

const review = async (operator: Operator, kind: Kind, id: string): Promise<Html> => {
  const { t } = operator;
  const answer = await operator.api({ method: 'GET', path: kind.path(id) });
  const owner = answer.status === 200 ? (answer.body[kind.wrapper] as Owner) : undefined;
  const mediaId = owner === undefined ? undefined : mediaIdOf(kind, owner);
  const approved = owner?.[`${kind.prefix}_approved`];
  // A gym may have been reviewed without a document.
  if (owner === undefined || (mediaId === undefined && typeof approved !== 'boolean'))
    return emptyList(t, 'ops.license.gone');
  const listed = await operator.api({ method: 'GET', path: `${kind.list}?${kind.one}=${id}` });
  const state = approved === null ? 'pending' : approved === true ? 'approved' : 'rejected';
  const hidden = { kind: kind.name, id, media_id: mediaId ?? '' };
  const query = `&kind=${kind.name}&id=${id}`;
  return html`<section class="card"><h2>${title(operator, kind, owner)}</h2>
<div class="grid">
${mediaId !== undefined && documentOf(operator, kind, owner, mediaId)}
<div class="stack">
${factsOf(t, [
  ['ops.license.state', t(message(`ops.license.${state}`))],
  ['ops.license.holder', await holderOf(operator, kind, owner)],
  ['ops.license.reviewed_name', reviewedName(operator, listed.body, owner)],
  ['ops.license.id', mediaId],
])}
${actionForm(operator, SLUG, { hidden, query, buttons: [['approve', message('ops.license.approve')]] })}
${actionForm(operator, SLUG, {
  hidden,
  query,
  text: {
    name: 'reason',
    label: message('ops.license.reason'),
    apiName: `${kind.prefix}_rejection_reason`,
  },
  buttons: [['reject', message('ops.license.reject'), 'danger']],
})}
<p><a href="${pathOf(operator, SLUG)}">${t(message('ops.license.all'))}</a></p>
</div></div></section>`;
};

/** Those that the operator may review. */
const kindsFor = ({ caller }: Operator): Kind[] =>
  KINDS.filter(({ permissions }) => permissions.every((permission) => can(caller, permission)));

const pending = (operator: Operator, { list, pages }: Kind): Promise<Record<string, unknown>> =>
  read(operator, `${list}?page=${pageIn(operator.query, pages)}`);

const list = async (operator: Operator): Promise<Html> => {
  const { t, query } = operator;
  const kinds = kindsFor(operator);
  const pages = Object.fromEntries(kinds.map((kind) => [kind.pages, pageIn(query, kind.pages)]));
  const cards = kinds.map(async (kind) => {
    const body = await pending(operator, kind);
    const items = (body.data as Owner[]).map((owner) => {
      const name = reviewedName(operator, body, owner);
      return html`<li><a href="${pathOf(operator, SLUG, `&kind=${kind.name}&id=${owner.id}`)}">${title(operator, kind, owner)}</a>
${name !== undefined && factsOf(t, [['ops.license.reviewed_name', name]])}</li>\n`;
    });
    const label = `ops.license.${kind.pages}` as const;
    const turn = turnByLink(operator, SLUG, kind.pages, pages);
    return html`<section class="card"><h2>${t(message(label))}</h2>
${listOf(operator, { body, items, none: 'ops.license.none', label, turn })}</section>\n`;
  });
  return html`${await Promise.all(cards)}`;
};

const kindIn = (operator: Operator, { kind: name }: Fields): Kind | undefined =>
  kindsFor(operator).find((kind) => kind.name === name);

/** Of the document that was shown: another one that is there by now is not reviewed by mistake. */
const decide = async (operator: Operator, fields: Fields, approved: boolean): Promise<ActionResult> => {
  const kind = kindIn(operator, fields);
  const id = idIn(fields.id);
  const mediaId = fields.media_id === '' ? null : idIn(fields.media_id);
  if (kind === undefined || id === undefined || mediaId === undefined) return gone(operator);
  const { prefix } = kind;
  const reason = fields.reason?.trim() ?? '';
  if (!approved && reason === '') {
    const errors = { [`${prefix}_rejection_reason`]: [operator.t(message('enter.reason'))] };
    return { refused: { status: 422, headers: {}, body: { errors } } };
  }
  const body = {
    [`${prefix}_approved`]: approved,
    [`${prefix}_media_id`]: mediaId === null ? null : Number(mediaId),
    ...(approved ? {} : { [`${prefix}_rejection_reason`]: reason }),
  };
  const answer = await operator.api({ method: 'PUT', path: kind.path(id), body });
  return outcomeOf(answer, approved ? 'approved' : 'rejected', `&of=${kind.name}&owner=${id}`);
};

export const licenses: Section = {
  slug: SLUG,
  title: 'ops.licenses',
  permissions: KINDS.map(({ permissions }) => permissions),
  show: async (operator) => {
    const { query } = operator;
    const [kind, id] = [kindIn(operator, query), idIn(query.id)];
    const shown = kind === undefined || id === undefined ? list(operator) : review(operator, kind, id);
    return html`${problemOf(operator, [])}${await shown}`;
  },
  showsProblems: true,
  watch: async (operator) => {
    const { query } = operator;
    const [kind, id] = [kindIn(operator, query), idIn(query.id)];
    if (kind !== undefined && id !== undefined) {
      const { body } = await operator.api({ method: 'GET', path: kind.path(id) });
      const owner = (body[kind.wrapper] ?? {}) as Owner;
      return `${mediaIdOf(kind, owner)} ${String(owner[`${kind.prefix}_approved`])} ${kind.titleOf(owner)}`;
    }
    const bodies = await Promise.all(kindsFor(operator).map((one) => pending(operator, one)));
    return JSON.stringify(bodies.map(({ data }) => (data as Owner[]).map(({ id }) => id)));
  },
  waiting: (operator) =>
    Promise.all(
      kindsFor(operator).map(async ({ list: path, pages }) => {
        const { count } = await countOf<Owner>(operator, path);
        return { label: `ops.license.${pages}` as const, count };
      }),
    ),
  actions: {
    approve: (operator, fields) => decide(operator, fields, true),
    reject: (operator, fields) => decide(operator, fields, false),
  },
  notice: async (operator, done) => {
    const { of, owner: id } = operator.query;
    const kind = kindIn(operator, { kind: of });
    if (kind === undefined || idIn(id) === undefined) return undefined;
    const { status, body } = await operator.api({ method: 'GET', path: kind.path(String(id)) });
    const owner = status === 200 ? (body[kind.wrapper] as Owner) : undefined;
    if (owner?.[`${kind.prefix}_approved`] !== (done === 'approved')) return undefined;
    const name = title(operator, kind, owner);
    return message(done === 'approved' ? 'ops.done.approved' : 'ops.done.license_rejected', { name });
  },
};
