/** The events of content. Each is published in the transaction of its change. */
import {
  postDeleted,
  traineeDelivered,
  traineePurchased,
  trainingServiceBoostEnded,
  trainingServiceChanged,
  trainingServiceDeleted,
} from '@fitness/proto/events/content.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import type { Post } from '../domain/post.ts';
import type { Trainee } from '../domain/trainee.ts';
import type { TrainingService } from '../domain/training-service.ts';

type Publish<Subject> = (
  dependencies: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  subject: Subject,
) => Promise<void>;

export const publishPostDeleted: Publish<Post> = ({ outbox }, session, { id, version }) =>
  outbox.publish(session, postDeleted, {
    subject: id,
    aggregateVersion: version + 1,
    data: { post_id: id },
  });

export const publishTrainingServiceChanged: Publish<TrainingService> = (
  { outbox },
  session,
  { id, user_id, is_active, version },
) =>
  outbox.publish(session, trainingServiceChanged, {
    subject: id,
    aggregateVersion: version,
    data: { training_service_id: id, user_id, is_active },
  });

export const publishTrainingServiceDeleted: Publish<TrainingService> = (
  { outbox },
  session,
  { id, version },
) =>
  outbox.publish(session, trainingServiceDeleted, {
    subject: id,
    aggregateVersion: version + 1,
    data: { training_service_id: id },
  });

/** The subject is the boost, because its end does not change the training service. */
export const publishTrainingServiceBoostEnded = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  service: TrainingService,
  boost: Boost,
  version: number,
): Promise<void> =>
  outbox.publish(session, trainingServiceBoostEnded, {
    subject: `boost-${boost.id}`,
    aggregateVersion: version,
    data: {
      boost_id: boost.id,
      training_service_id: service.id,
      title: service.title,
      seller_user_id: service.user_id,
      level: boost.level,
      ended_at: formatTimestamp(boost.endsAt),
    },
  });

const eventOf = (trainee: Trainee) => ({
  subject: trainee.traineeId,
  aggregateVersion: trainee.version,
  data: {
    trainee_id: trainee.traineeId,
    training_service_id: trainee.trainingServiceId,
    title: trainee.title,
    seller_user_id: trainee.sellerUserId,
    buyer_user_id: trainee.buyerUserId,
  },
});

export const publishTraineePurchased: Publish<Trainee> = ({ outbox }, session, trainee) => {
  const { price, commission } = trainee;
  const event = eventOf(trainee);
  return outbox.publish(session, traineePurchased, { ...event, data: { ...event.data, price, commission } });
};

export const publishTraineeDelivered: Publish<Trainee> = ({ outbox }, session, trainee) =>
  outbox.publish(session, traineeDelivered, eventOf(trainee));
