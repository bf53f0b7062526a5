/** Trainees of the caller, as buyer and as seller, and their delivery. */
import { traineeDelivered } from '@fitness/proto/events/content.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { conflict, forbidden, message, notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { isPaid, type Trainee } from '../domain/trainee.ts';
import type { TraineeFilter } from '../store/trainees.ts';
import type { Parts } from './parts.ts';
import { showTrainee, type TraineeResource } from './resources.ts';

export type ListTrainees = (
  viewer: UserCaller,
  filter: TraineeFilter,
  request: PageRequest,
) => Promise<{ page: PageOf<unknown>; data: TraineeResource[] }>;

export const listTrainees =
  ({ store, users }: Parts): ListTrainees =>
  async (viewer, filter, request) => {
    const page = await store.trainees.page(filter, request);
    const buyers = await users.show(
      page.rows.map(({ buyerUserId }) => buyerUserId),
      viewer,
      { withErased: true },
    );
    return { page, data: page.rows.map((trainee) => showTrainee(trainee, buyers)) };
  };

/** By the seller, once: 404 for a stranger, 403 for the buyer, 409 when it is delivered already. */
export type DeliverTrainee = (caller: UserCaller, id: number) => Promise<TraineeResource>;

export const deliverTrainee =
  ({ store, users, outbox, clock }: Parts): DeliverTrainee =>
  async (caller, id) => {
    const trainee = await store.trainees.find(id);
    if (trainee === undefined || !isPaid(trainee) || !takesPart(trainee, caller.userId)) throw notFound();
    if (trainee.sellerUserId !== caller.userId) throw forbidden(`trainee ${id} is delivered by its seller`);
    // Taken before anything is written: a delivery that was noted is never answered with a 503.
    const buyers = await users.show([trainee.buyerUserId], caller, { withErased: true });
    return store.transaction(async (session) => {
      const delivered = await store.trainees.deliver(session, id, clock.now());
      if (delivered === undefined)
        throw conflict('trainees.already_delivered', message('trainees.already_delivered'));
      await outbox.emit(session, traineeDelivered, {
        subject: id,
        aggregateVersion: delivered.version,
        data: {
          trainee_id: id,
          training_service_id: delivered.trainingServiceId,
          seller_user_id: delivered.sellerUserId,
          buyer_user_id: delivered.buyerUserId,
        },
      });
      return showTrainee(delivered, buyers);
    });
  };

const takesPart = ({ buyerUserId, sellerUserId }: Trainee, userId: number): boolean =>
  buyerUserId === userId || sellerUserId === userId;
