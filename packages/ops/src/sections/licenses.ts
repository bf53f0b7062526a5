/**
 * Licenses of gyms and trainers that are not reviewed, or whose name has changed since the review. The document is shown beside the buttons,
 * which lead to the second step of the decision.
 */
import type { Schemas } from '@fitness/client';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { isolate } from '@fitness/shared/pages/html.ts';
import { problemOf } from '@fitness/shared/pages/views.ts';
import type { ApiAnswer } from '@fitness/shared/pages/visitor.ts';
import { call, type Declaration } from '../call.ts';
import { type Content, card, cell, facts, link, notice, userName, view } from '../content.ts';
import { decision, decisionsAbout } from '../decision.ts';
import { type AnyList, list, showLists, watchLists } from '../list.ts';
import { readNames, type User, updateUser, user } from '../members.ts';
import { idIn, OPS_PATH, type Operator } from '../operator.ts';
import type { Section } from '../section.ts';

const SLUG = 'licenses';
const IMAGE = /\.(?:jpe?g|png|webp|gif)$/i;

const gym = call('GET /gyms/{id}', ['gyms.view_all']);
const gymReviews = call('GET /gyms/license-reviews', ['gyms.view_all']);
const trainerReviews = call('GET /users/license-reviews', ['users.view_all']);
export const updateGym = call(
  'PUT /gyms/{id}',
  ['gyms.approve_license'],
  ['gym_license_approved', 'gym_license_media_id', 'gym_license_rejection_reason'],
);

/** A gym or a trainer. */
type Owner = Schemas['Gym'] | User;
interface Reviews {
  meta?: { name_changes?: { id: number; reviewed_name: string | null }[] };
}

interface Kind {
  name: 'gym' | 'trainer';
  /** The calls to see and to review a license, all of which are required. */
  needs: readonly Declaration[];
  find(operator: Operator, id: string): Promise<Owner | undefined>;
  /** The list of reviews with this row alone. */
  reviews(operator: Operator, id: number): Promise<Reviews | undefined>;
  send(operator: Operator, id: number, body: object): Promise<ApiAnswer>;
  list: AnyList;
}

const isUser = (owner: Owner): owner is User => 'username' in owner;
const nameOf = (owner: Owner): string =>
  isUser(owner) ? userName(owner) : isolate(owner.name ?? String(owner.id));
const titleOf = (kind: Kind['name'], owner: Owner): Message =>
  message(`ops.license.${kind}`, { name: nameOf(owner) });

/** A field of the license, such as `gym_license_image`. */
const licenseField = (owner: Owner, field: 'approved' | 'image' | 'link' | 'rejection_reason'): unknown =>
  (owner as Record<string, unknown>)[`${isUser(owner) ? 'trainer' : 'gym'}_license_${field}`];

/** The id in `/api/v1/media/<id>/<filename>`. Undefined if there is no document, as for a gym that was reviewed without one. */
const mediaIdOf = (owner: Owner): string | undefined =>
  /\/media\/(\d+)\//.exec(String(licenseField(owner, 'link')))?.[1];

/** The member who holds each license: the trainer, or the owner of the gym. */
const holdersOf = async (operator: Operator, owners: readonly Owner[]): Promise<Content[]> => {
  const ids = owners.map((owner) => (isUser(owner) ? undefined : owner.user_id));
  const names = await readNames(operator, ids);
  return owners.map((owner, index) => {
    if (isUser(owner)) return cell.member(owner);
    const id = ids[index];
    return id != null && cell.member(names.get(id), id);
  });
};

/** The name that was reviewed with the license, if it has changed since. */
const reviewedName = ({ meta }: Reviews, { id }: Owner): string | Message | undefined => {
  const change = meta?.name_changes?.find((one) => one.id === id);
  return change && (change.reviewed_name ?? message('ops.license.no_name'));
};

const listOf = <Name extends 'gym' | 'trainer'>(kind: Name) => ({
  page: `${kind}s` as const,
  title: `ops.license.${kind}s` as const,
  none: 'ops.license.none' as const,
  hint: 'ops.license.order' as const,
  waiting: { label: `ops.license.${kind}s` as const },
  items: async (owners: readonly Owner[], operator: Operator, body: Reviews): Promise<Content[]> => {
    // The title of a trainer license names its holder.
    const holders = kind === 'gym' ? await holdersOf(operator, owners) : [];
    return owners.map((owner, index) => {
      const reviewed = reviewedName(body, owner);
      const holder = holders[index] || undefined;
      return view`${link(titleOf(kind, owner), SLUG, { kind, id: owner.id })}
${
  (reviewed !== undefined || holder !== undefined) &&
  facts([
    ['ops.user', holder],
    ['ops.license.reviewed_name', reviewed],
  ])
}`;
    });
  },
});

const KINDS: readonly Kind[] = [
  {
    name: 'gym',
    needs: [gymReviews, updateGym],
    find: async (operator, id) => (await gym.find(operator, { id }))?.gym,
    reviews: (operator, id) => gymReviews.find(operator, { query: { gym_id: id } }),
    send: (operator, id, body) => updateGym.send(operator, { id, body }),
    list: list({ call: gymReviews, needs: [gymReviews, updateGym], ...listOf('gym') }),
  },
  {
    name: 'trainer',
    needs: [trainerReviews, updateUser],
    find: async (operator, id) => (await user.find(operator, { id }))?.user,
    reviews: (operator, id) => trainerReviews.find(operator, { query: { user_id: id } }),
    send: (operator, id, body) => updateUser.send(operator, { id, body }),
    list: list({ call: trainerReviews, needs: [trainerReviews, updateUser], ...listOf('trainer') }),
  },
];

/** The kinds that the operator may review. */
const kindsFor = (operator: Operator): Kind[] => KINDS.filter((kind) => kind.list.isFor(operator));

/** The current state of a license under review. */
interface License {
  kind: Kind;
  owner: Owner;
  mediaId: string | undefined;
  approved: unknown;
  reviewed: string | Message | undefined;
}

/** Whether the address names one license, of a kind that the operator may review. */
const isOne = (operator: Operator): boolean => {
  const { kind, id } = operator.query;
  return idIn(id) !== undefined && kindsFor(operator).some(({ name }) => name === kind);
};

/** Undefined if there is nothing to review. */
const find = async (operator: Operator, fields: Fields): Promise<License | undefined> => {
  const kind = kindsFor(operator).find(({ name }) => name === fields.kind);
  const id = idIn(fields.id);
  const owner = kind && id && (await kind.find(operator, id));
  if (!kind || !owner) return undefined;
  const [mediaId, approved] = [mediaIdOf(owner), licenseField(owner, 'approved')];
  if (mediaId === undefined && typeof approved !== 'boolean') return undefined;
  const listed = await kind.reviews(operator, owner.id);
  return { kind, owner, mediaId, approved, reviewed: reviewedName(listed ?? {}, owner) };
};

const documentOf = ({ owner, mediaId }: License): Content => {
  const address = `${OPS_PATH}/documents/${mediaId}`;
  const filename = String(licenseField(owner, 'image'));
  return view`<div class="stack">
${IMAGE.test(filename) && view`<img class="document" src="${address}" alt="${message('ops.license.document', { filename })}">`}
<p><a href="${address}">${message('ops.license.open', { filename })}</a></p>
</div>`;
};

export const licenseState = (approved: unknown): Message => {
  if (typeof approved !== 'boolean') return message('ops.license.pending');
  return message(approved ? 'ops.license.approved' : 'ops.license.rejected');
};

const factsOf = async (
  operator: Operator,
  { owner, mediaId, approved, reviewed }: License,
): Promise<Content> =>
  facts([
    ['ops.license.state', licenseState(approved)],
    ['ops.user', (await holdersOf(operator, [owner]))[0]],
    ['ops.license.reviewed_name', reviewed],
    ['ops.license.id', mediaId],
  ]);

const addressOf = ({ kind, owner }: License) => ({ kind: kind.name, id: owner.id });

const review = async (operator: Operator): Promise<Content> => {
  const license = await find(operator, operator.query);
  if (license === undefined) return notice(message('ops.license.gone'));
  return card(
    titleOf(license.kind.name, license.owner),
    view`
<div class="grid">
${license.mediaId !== undefined && documentOf(license)}
<div class="stack">
${await factsOf(operator, license)}
${decisionsAbout(license, [approval, rejection], addressOf(license))}
<p>${link(message('ops.license.all'), SLUG)}</p>
</div></div>`,
  );
};

const doneText = ({ t }: Operator, { kind, owner }: License, isApproval: boolean): Message =>
  message(isApproval ? 'ops.done.approved' : 'ops.done.license_rejected', {
    name: t(titleOf(kind.name, owner)),
  });

const licenseDecision = (name: 'approve' | 'reject') => {
  const isApproval = name === 'approve';
  /** Set if the document has been replaced since it was shown, or if the same decision has already been made. */
  const settledAs = (operator: Operator, license: License, { media_id: shown = '', reason }: Fields) => {
    const { owner, mediaId, approved, reviewed } = license;
    if (shown !== (mediaId ?? '')) return { text: message('licenses.replaced'), isSame: false };
    const isSameReason = isApproval || licenseField(owner, 'rejection_reason') === reason?.trim();
    if (approved !== isApproval || reviewed !== undefined || !isSameReason) return undefined;
    return { text: doneText(operator, license, isApproval), isSame: true };
  };
  return decision<License>({
    name,
    done: isApproval ? 'approved' : 'rejected',
    of: ({ kind, owner }) => ({ of: kind.name, owner: owner.id }),
    fields: ({ kind, owner, mediaId }) => ({ kind: kind.name, id: owner.id, media_id: mediaId }),
    label: () => message(`ops.license.${name}`),
    ...(isApproval ? {} : { rank: 'danger' }),
    find,
    missing: message('ops.license.gone'),
    confirmation: async (license, operator, fields) => {
      const { kind, owner, mediaId, approved } = license;
      const holder = nameOf(owner);
      return {
        title: message(`ops.license.${name}.title`, { name: holder }),
        lead: message(`ops.license.${name}.lead`),
        facts: await factsOf(operator, license),
        state: [kind.name, owner.id, holder, mediaId, String(approved)],
        settled: settledAs(operator, license, fields),
        field: isApproval
          ? undefined
          : {
              name: 'reason',
              apiName: `${kind.name}_license_rejection_reason`,
              label: message('ops.license.reason'),
              missing: message('enter.reason'),
              isLong: true,
            },
        back: { query: addressOf(license), label: message('ops.back_to', { name: holder }) },
      };
    },
    perform: (operator, { kind, owner, mediaId }, { reason }) =>
      kind.send(operator, owner.id, {
        [`${kind.name}_license_approved`]: isApproval,
        [`${kind.name}_license_media_id`]: mediaId === undefined ? null : Number(mediaId),
        ...(isApproval ? {} : { [`${kind.name}_license_rejection_reason`]: reason?.trim() }),
      }),
  });
};

const approval = licenseDecision('approve');
const rejection = licenseDecision('reject');

const lists = KINDS.map((kind) => kind.list);

export const licenses: Section = {
  slug: SLUG,
  title: 'ops.licenses',
  needs: KINDS.map(({ needs }) => needs),
  lists,
  showsProblems: true,
  show: async (operator) => {
    const shown = isOne(operator) ? review(operator) : showLists(operator, lists);
    return [problemOf(operator, []), await shown];
  },
  watch: async (operator) => {
    if (!isOne(operator)) return watchLists(operator, lists);
    const license = await find(operator, operator.query);
    return license === undefined
      ? ''
      : `${license.mediaId} ${String(license.approved)} ${nameOf(license.owner)}`;
  },
  decisions: [approval, rejection],
  notice: async (operator, done) => {
    const { of: kind, owner: id } = operator.query;
    if (done !== 'approved' && done !== 'rejected') return undefined;
    const license = await find(operator, { kind, id });
    const isApproval = done === 'approved';
    return license?.approved === isApproval ? doneText(operator, license, isApproval) : undefined;
  },
};
