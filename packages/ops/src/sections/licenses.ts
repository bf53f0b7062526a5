/**
 * Licenses of gyms and trainers that are not reviewed, or whose name has changed since the review. The document is shown beside the buttons,
 * which lead to the second step of the decision.
 */

import { can } from '@fitness/shared/kernel/caller.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { problemOf } from '@fitness/shared/pages/views.ts';
import { type Confirmation, decisionOf } from '../decision.ts';
import { memberLink, readNames } from '../members.ts';
import { OPS_PATH } from '../path.ts';
import {
  type Action,
  actionForm,
  countOf,
  emptyList,
  factsOf,
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

/** The addresses and field names of one kind of license. */
interface Kind {
  name: 'gym' | 'trainer';
  /** The query parameter for the page number of the list. */
  pages: 'gyms' | 'trainers';
  list: string;
  /** The filter of the list for a single row. */
  one: string;
  path: (id: string) => string;
  wrapper: string;
  prefix: string;
  /** The permissions to see and to review a license, all of which are required. */
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
    titleOf: ({ name, id }) => isolate(String(name ?? id)),
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

/** The name that was reviewed with the license, if it has changed since. */
const reviewedName = (
  { t }: Operator,
  list: { meta?: { name_changes?: NameChange[] } },
  { id }: Owner,
): string | undefined => {
  const change = list.meta?.name_changes?.find((one) => one.id === id);
  return change && (change.reviewed_name ?? t(message('ops.license.no_name')));
};

/** The id in `/api/v1/media/<id>/<filename>`. Undefined if there is no document. */
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

/** The member who holds each license, by the id of the trainer or the gym: the trainer, or the owner of the gym. */
const holdersOf = async (
  operator: Operator,
  { name }: Kind,
  owners: readonly Owner[],
): Promise<ReadonlyMap<number, Html>> => {
  if (name === 'trainer') return new Map(owners.map((owner) => [owner.id, memberLink(operator, owner)]));
  const gyms = owners.flatMap(({ id, user_id: userId }) =>
    typeof userId === 'number' ? [{ id, userId }] : [],
  );
  const names = await readNames(
    operator,
    gyms.map(({ userId }) => userId),
  );
  return new Map(gyms.map(({ id, userId }) => [id, memberLink(operator, names.get(userId), userId)]));
};

/** The current state of a license under review. */
interface License {
  kind: Kind;
  owner: Owner;
  /** Undefined for a gym that was reviewed without a document. */
  mediaId: string | undefined;
  approved: unknown;
  reviewed: string | undefined;
}

/** Undefined if there is nothing to review. */
const readLicense = async (operator: Operator, kind: Kind, id: string): Promise<License | undefined> => {
  const { status, body } = await operator.api({ method: 'GET', path: kind.path(id) });
  if (status !== 200) return undefined;
  const owner = body[kind.wrapper] as Owner;
  const mediaId = mediaIdOf(kind, owner);
  const approved = owner[`${kind.prefix}_approved`];
  if (mediaId === undefined && typeof approved !== 'boolean') return undefined;
  const listed = await operator.api({ method: 'GET', path: `${kind.list}?${kind.one}=${id}` });
  return { kind, owner, mediaId, approved, reviewed: reviewedName(operator, listed.body, owner) };
};

const licenseFacts = async (operator: Operator, license: License): Promise<Html> => {
  const { t } = operator;
  const { kind, owner, mediaId, approved, reviewed } = license;
  const state = typeof approved !== 'boolean' ? 'pending' : approved ? 'approved' : 'rejected';
  return factsOf(t, [
    ['ops.license.state', t(message(`ops.license.${state}`))],
    ['ops.user', (await holdersOf(operator, kind, [owner])).get(owner.id)],
    ['ops.license.reviewed_name', reviewed],
    ['ops.license.id', mediaId],
  ]);
};

const queryOf = ({ kind, owner }: License): string => `&kind=${kind.name}&id=${owner.id}`;

const review = async (operator: Operator, kind: Kind, id: string): Promise<Html> => {
  const { t } = operator;
  const license = await readLicense(operator, kind, id);
  if (license === undefined) return emptyList(t, 'ops.license.gone');
  const { owner, mediaId } = license;
  return html`<section class="card"><h2>${title(operator, kind, owner)}</h2>
<div class="grid">
${mediaId !== undefined && documentOf(operator, kind, owner, mediaId)}
<div class="stack">
${await licenseFacts(operator, license)}
${actionForm(operator, SLUG, {
  hidden: { kind: kind.name, id, media_id: mediaId ?? '' },
  query: queryOf(license),
  buttons: [
    ['approve', message('ops.license.approve')],
    ['reject', message('ops.license.reject'), 'danger'],
  ],
})}
<p><a href="${pathOf(operator, SLUG)}">${t(message('ops.license.all'))}</a></p>
</div></div></section>`;
};

/** The kinds that the operator may review. */
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
    const holders = await holdersOf(operator, kind, body.data as Owner[]);
    const items = (body.data as Owner[]).map((owner) => {
      const name = reviewedName(operator, body, owner);
      // The title of a trainer license names its holder.
      const holder = kind.name === 'gym' ? holders.get(owner.id) : undefined;
      const isExplained = name !== undefined || holder !== undefined;
      return html`<li><a href="${pathOf(operator, SLUG, `&kind=${kind.name}&id=${owner.id}`)}">${title(operator, kind, owner)}</a>
${
  isExplained &&
  factsOf(t, [
    ['ops.user', holder],
    ['ops.license.reviewed_name', name],
  ])
}</li>\n`;
    });
    const label = `ops.license.${kind.pages}` as const;
    const turn = turnByLink(operator, SLUG, kind.pages, pages);
    return html`<section class="card"><h2>${t(message(label))}</h2>
${items.length > 1 && html`<p class="quiet">${t(message('ops.license.order'))}</p>`}
${listOf(operator, { body, items, none: 'ops.license.none', label, turn })}</section>\n`;
  });
  return html`${await Promise.all(cards)}`;
};

const kindIn = (operator: Operator, { kind: name }: Fields): Kind | undefined =>
  kindsFor(operator).find((kind) => kind.name === name);

const findLicense = async (operator: Operator, fields: Fields): Promise<License | undefined> => {
  const [kind, id] = [kindIn(operator, fields), idIn(fields.id)];
  return kind === undefined || id === undefined ? undefined : readLicense(operator, kind, id);
};

const doneText = (operator: Operator, { kind, owner }: License, isApproval: boolean): Message =>
  message(isApproval ? 'ops.done.approved' : 'ops.done.license_rejected', {
    name: title(operator, kind, owner),
  });

/** Set if the document has been replaced since it was shown, or if the same decision has already been made. */
const settledAs = (
  operator: Operator,
  license: License,
  fields: Fields,
  isApproval: boolean,
): Confirmation['settled'] => {
  const { kind, owner, mediaId, approved, reviewed } = license;
  if ((fields.media_id ?? '') !== (mediaId ?? '')) return { text: message('licenses.replaced') };
  const reason = owner[`${kind.prefix}_rejection_reason`];
  const isSameReason = isApproval || reason === fields.reason?.trim();
  if (approved !== isApproval || reviewed !== undefined || !isSameReason) return undefined;
  const query = `&of=${kind.name}&owner=${owner.id}`;
  const text = doneText(operator, license, isApproval);
  return { text, result: { done: isApproval ? 'approved' : 'rejected', query } };
};

const licenseDecision = (name: 'approve' | 'reject'): Record<string, Action> => {
  const isApproval = name === 'approve';
  return decisionOf<License>(name, {
    slug: SLUG,
    find: findLicense,
    missing: message('ops.license.gone'),
    confirmation: async (operator, license, fields) => {
      const { kind, owner, mediaId, approved } = license;
      const holder = kind.titleOf(owner);
      return {
        title: message(`ops.license.${name}.title`, { name: holder }),
        lead: message(`ops.license.${name}.lead`),
        facts: await licenseFacts(operator, license),
        repeated: ['kind', 'id', 'media_id'],
        state: [kind.name, owner.id, holder, mediaId, String(approved)],
        settled: settledAs(operator, license, fields, isApproval),
        ...(isApproval
          ? {}
          : {
              field: {
                name: 'reason',
                apiName: `${kind.prefix}_rejection_reason`,
                label: message('ops.license.reason'),
                missing: message('enter.reason'),
                isLong: true,
              },
            }),
        button: { label: message(`ops.license.${name}`), isDestructive: !isApproval },
        back: { query: queryOf(license), label: message('ops.back_to', { name: holder }) },
      };
    },
    perform: async (operator, { kind, owner, mediaId }, fields) => {
      const { prefix } = kind;
      const body = {
        [`${prefix}_approved`]: isApproval,
        [`${prefix}_media_id`]: mediaId === undefined ? null : Number(mediaId),
        ...(isApproval ? {} : { [`${prefix}_rejection_reason`]: fields.reason?.trim() }),
      };
      const answer = await operator.api({ method: 'PUT', path: kind.path(String(owner.id)), body });
      return outcomeOf(answer, isApproval ? 'approved' : 'rejected', `&of=${kind.name}&owner=${owner.id}`);
    },
  });
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
  actions: { ...licenseDecision('approve'), ...licenseDecision('reject') },
  notice: async (operator, done) => {
    const { of, owner: id } = operator.query;
    const license = await findLicense(operator, { kind: of, id });
    const isApproval = done === 'approved';
    return license?.approved === isApproval ? doneText(operator, license, isApproval) : undefined;
  },
};
