/** Training services: created, changed and removed by who sells them, seen by everybody while they are active. */
import { trainingServiceChanged, trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound, unavailable } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { UserResource } from '@fitness/shared/resources/user.ts';
import { userProfile } from '../domain/profile.ts';
import type { TrainingService } from '../domain/training-service.ts';
import type { ServiceContent } from '../store/training-services.ts';
import type { Parts } from './parts.ts';
import { decorateServices, showService, type TrainingServiceResource } from './resources.ts';

/** The owner, and operators, who see everything anyway. */
const mayManage = (service: TrainingService, caller: Caller): boolean =>
  (caller.kind === 'user' && caller.userId === service.userId) || can(caller, 'training_services.update_any');

/** As in the list: whoever sees every post sees every training service. */
const maySee = (service: TrainingService, caller: Caller): boolean =>
  service.isActive || mayManage(service, caller) || can(caller, 'posts.view_all');

const countOf = ({ isActive }: TrainingService): 'active' | 'inactive' => (isActive ? 'active' : 'inactive');

/** Taken before anything is written: a change that was made is never answered with a 503. */
const sellerOf = async (parts: Parts, userId: number, viewer: Caller): Promise<UserResource | undefined> =>
  (await parts.users.show([userId], viewer)).get(userId);

/** 403 for an account that was erased meanwhile. */
export type CreateTrainingService = (
  caller: UserCaller,
  content: ServiceContent,
) => Promise<TrainingServiceResource>;

export const createTrainingService =
  (parts: Parts): CreateTrainingService =>
  async (caller, content) => {
    const user = await sellerOf(parts, caller.userId, caller);
    if (user === undefined) throw unavailable(`identity does not know its own caller ${caller.userId}`);
    const now = parts.clock.now();
    const service: TrainingService = {
      id: await parts.sequences.next('training_services'),
      userId: caller.userId,
      ...content,
      createdAt: now,
      updatedAt: now,
      version: 1,
    };
    const profile = userProfile(caller.userId);
    await parts.store.profiles.ensure(profile.ref, profile.state, 0);
    await parts.store.transaction(async (session) => {
      if (!(await parts.store.profiles.pin(session, profile.ref))) throw forbidden('the account is erased');
      await parts.store.trainingServices.insert(session, service);
      await parts.store.counters.moveServices(session, { [countOf(service)]: 1 }, service.id);
      await announceChange(parts, session, service);
    });
    return showService(service, user);
  };

/** 404 for one that the viewer may not see: inactive, or its owner's account is about to be deleted. */
export type GetTrainingService = (viewer: Caller, id: number) => Promise<TrainingServiceResource>;

export const getTrainingService =
  (parts: Parts): GetTrainingService =>
  async (viewer, id) => {
    const service = await parts.store.trainingServices.find(id);
    if (service === undefined || !maySee(service, viewer)) throw notFound();
    const isOwner = viewer.kind === 'user' && viewer.userId === service.userId;
    const asksHidden = !isOwner && !can(viewer, 'users.view_all');
    const [hidden, user, decorations] = await Promise.all([
      asksHidden ? parts.users.hidden([service.userId]) : undefined,
      sellerOf(parts, service.userId, viewer),
      decorateServices(parts.decorations, [id]),
    ]);
    if (user === undefined || hidden?.pending.has(service.userId) || hidden?.gone.has(service.userId))
      throw notFound();
    return showService(service, user, decorations);
  };

/** Only what is given changes. 404 unless seen, 403 unless owned. */
export type UpdateTrainingService = (
  caller: UserCaller,
  id: number,
  change: { [Field in keyof ServiceContent]?: ServiceContent[Field] | undefined },
) => Promise<TrainingServiceResource>;

export const updateTrainingService =
  (parts: Parts): UpdateTrainingService =>
  async (caller, id, change) => {
    const { store } = parts;
    const found = await managed(parts, caller, id);
    const user = await sellerOf(parts, found.userId, caller);
    if (user === undefined) throw notFound();
    const written = await store.transaction(async (session) => {
      const current = await managed(parts, caller, id, session);
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      const service = await store.trainingServices.write(
        session,
        current,
        { ...current, ...given },
        parts.clock.now(),
      );
      if (service.isActive !== current.isActive)
        await store.counters.moveServices(session, { [countOf(current)]: -1, [countOf(service)]: 1 });
      await announceChange(parts, session, service);
      return service;
    });
    return showService(written, user, await decorateServices(parts.decorations, [id]));
  };

/** What was sold stays with its buyers. 404 unless seen, 403 unless owned. */
export type DeleteTrainingService = (caller: UserCaller, id: number) => Promise<void>;

export const deleteTrainingService =
  (parts: Parts): DeleteTrainingService =>
  async (caller, id) => {
    await parts.store.transaction(async (session) => {
      await managed(parts, caller, id, session);
      await removeTrainingService(parts, session, id);
    });
  };

/** Removes one with all that hangs on it, and tells the others. */
export const removeTrainingService = async (
  { store, outbox }: Pick<Parts, 'store' | 'outbox'>,
  session: ClientSession,
  id: number,
): Promise<void> => {
  const removed = await store.trainingServices.remove(session, id);
  if (removed === undefined) return;
  await store.counters.moveServices(session, { [countOf(removed)]: -1 });
  await store.boosts.removeOf(session, id);
  await outbox.emit(session, trainingServiceDeleted, {
    subject: id,
    aggregateVersion: removed.version + 1,
    data: { training_service_id: id },
  });
};

const managed = async (
  { store }: Parts,
  caller: UserCaller,
  id: number,
  session?: ClientSession,
): Promise<TrainingService> => {
  const service = await store.trainingServices.find(id, session);
  if (service === undefined || !maySee(service, caller)) throw notFound();
  if (!mayManage(service, caller)) throw forbidden(`training service ${id} belongs to ${service.userId}`);
  return service;
};

const announceChange = (
  { outbox }: Parts,
  session: ClientSession,
  { id, userId, isActive, version }: TrainingService,
): Promise<void> =>
  outbox.emit(session, trainingServiceChanged, {
    subject: id,
    aggregateVersion: version,
    data: { training_service_id: id, user_id: userId, is_active: isActive },
  });
