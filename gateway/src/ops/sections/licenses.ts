/** Licenses of gyms and trainers that nobody has reviewed. The document is shown beside the buttons. */

import { can } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import type { ApiAnswer } from '../../call-api.ts';
import type { Fields } from '../../pages/form-pages.ts';
import { OPS_PATH } from '../../pages/paths.ts';
import {
  actionForm,
  emptyList,
  factsOf,
  idIn,
  type Operator,
  outcomeOf,
  pathOf,
  read,
  type Section,
  userName,
} from '../section.ts';

const SLUG = 'licenses';
const IMAGE = /\.(?:jpe?g|png|webp|gif)$/i;

/** Where licenses are, and the names of their fields. */
interface Kind {
  name: 'gym' | 'trainer';
  list: string;
  path: (id: string) => string;
  wrapper: string;
  prefix: string;
  mayReview: (operator: Operator) => boolean;
  titleOf: (owner: Owner) => string;
}

type Owner = Record<string, unknown> & { id: number };

const KINDS: readonly Kind[] = [
  {
    name: 'gym',
    list: '/gyms/license-reviews',
    path: (id) => `/gyms/${id}`,
    wrapper: 'gym',
    prefix: 'gym_license',
    mayReview: ({ caller }) => can(caller, 'gyms.approve_license'),
    titleOf: ({ name, id }) => String(name ?? `#${id}`),
  },
  {
    name: 'trainer',
    list: '/users/license-reviews',
    path: (id) => `/users/${id}`,
    wrapper: 'user',
    prefix: 'trainer_license',
    mayReview: ({ caller }) => can(caller, 'users.update_any'),
    titleOf: userName,
  },
];

const title = ({ t }: Operator, { name, titleOf }: Kind, owner: Owner): string =>
  t(message(`ops.license.${name}`, { name: titleOf(owner) }));

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

const review = async (operator: Operator, kind: Kind, id: string): Promise<Html> => {
  const { t } = operator;
  const answer = await operator.api({ method: 'GET', path: kind.path(id) });
  const owner = answer.status === 200 ? (answer.body[kind.wrapper] as Owner) : undefined;
  const mediaId = owner === undefined ? undefined : mediaIdOf(kind, owner);
  if (owner === undefined || mediaId === undefined) return emptyList(t, 'ops.license.gone');
  const approved = owner[`${kind.prefix}_approved`];
  const state = approved === null ? 'pending' : approved === true ? 'approved' : 'rejected';
  const hidden = { kind: kind.name, id, media_id: mediaId };
  const query = `&kind=${kind.name}&id=${id}`;
  return html`<section class="card"><h2>${title(operator, kind, owner)}</h2>
<div class="grid">
${documentOf(operator, kind, owner, mediaId)}
<div class="stack">
${factsOf(t, [
  ['ops.license.state', t(message(`ops.license.${state}`))],
  ['ops.license.id', mediaId],
])}
${actionForm(operator, SLUG, { hidden, query, buttons: [['approve', message('ops.license.approve')]] })}
${actionForm(operator, SLUG, {
  hidden,
  query,
  text: { name: 'reason', label: message('ops.license.reason') },
  buttons: [['reject', message('ops.license.reject')]],
})}
<p><a href="${pathOf(operator, SLUG)}">${t(message('ops.license.all'))}</a></p>
</div></div></section>`;
};

const pending = async (operator: Operator, kind: Kind): Promise<Owner[]> =>
  kind.mayReview(operator) ? ((await read(operator, kind.list)).data as Owner[]) : [];

const list = async (operator: Operator): Promise<Html> => {
  const items = await Promise.all(
    KINDS.map(async (kind) =>
      (await pending(operator, kind)).map(
        (owner) =>
          html`<li><a href="${pathOf(operator, SLUG, `&kind=${kind.name}&id=${owner.id}`)}">${title(operator, kind, owner)}</a></li>\n`,
      ),
    ),
  );
  const all = items.flat();
  if (all.length === 0) return emptyList(operator.t, 'ops.license.none');
  return html`<section class="card"><ul class="items" role="list">${all}</ul></section>`;
};

const kindIn = ({ kind: name }: Fields): Kind | undefined => KINDS.find((kind) => kind.name === name);

/** Of the document that was shown: another one that is there by now is not reviewed by mistake. */
const decide = async (operator: Operator, fields: Fields, approved: boolean): Promise<ApiAnswer> => {
  const kind = kindIn(fields);
  const [id, mediaId] = [idIn(fields.id), idIn(fields.media_id)];
  if (kind === undefined || id === undefined || mediaId === undefined)
    return { status: 404, headers: {}, body: { message: operator.t(message('error.not_found')) } };
  const { prefix } = kind;
  const reason = fields.reason?.trim() ?? '';
  const body = {
    [`${prefix}_approved`]: approved,
    [`${prefix}_media_id`]: Number(mediaId),
    ...(approved || reason === '' ? {} : { [`${prefix}_rejection_reason`]: reason }),
  };
  return operator.api({ method: 'PUT', path: kind.path(id), body });
};

export const licenses: Section = {
  slug: SLUG,
  title: 'ops.licenses',
  permissions: ['gyms.view_all', 'gyms.approve_license', 'users.view_all', 'users.update_any'],
  show: async (operator) => {
    const { query } = operator;
    const [kind, id] = [kindIn(query), idIn(query.id)];
    return kind === undefined || id === undefined ? list(operator) : review(operator, kind, id);
  },
  watch: async (operator) => {
    const { query } = operator;
    const [kind, id] = [kindIn(query), idIn(query.id)];
    if (kind !== undefined && id !== undefined) {
      const { body } = await operator.api({ method: 'GET', path: kind.path(id) });
      const owner = (body[kind.wrapper] ?? {}) as Owner;
      return `${mediaIdOf(kind, owner)} ${String(owner[`${kind.prefix}_approved`])}`;
    }
    const owners = await Promise.all(KINDS.map((one) => pending(operator, one)));
    return JSON.stringify(owners.map((some) => some.map((owner) => owner.id)));
  },
  actions: {
    approve: async (operator, fields) => outcomeOf(await decide(operator, fields, true), 'reviewed'),
    reject: async (operator, fields) => outcomeOf(await decide(operator, fields, false), 'reviewed'),
  },
};
