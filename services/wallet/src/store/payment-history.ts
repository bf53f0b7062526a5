/** Pages of payments, filtered. */

import { PAYMENT_TYPES, type PaymentType } from '@fitness/contracts/payment-types.ts';
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import type { PipelineStage } from 'mongoose';
import type { Payment } from '../domain/payment.ts';
import type { Models, PaymentDocument } from './models.ts';
import { fromDocument } from './payment-document.ts';

export interface PaymentFilter {
  userId?: number | undefined;
  type?: PaymentType | undefined;
  isDone?: boolean | undefined;
  rejected?: boolean | undefined;
  /** Inclusive, like `to`. */
  from?: Date | undefined;
  to?: Date | undefined;
  order: 'ASC' | 'DESC';
}

const EITHER = [true, false];

/**
 * Two stages, which MongoDB combines into one condition. The first filters by one indexed field, for which every query planner
 * uses an index. The second lists every value of the unfiltered fields: within each combination, the index is ordered by id.
 */
const toStages = (filter: PaymentFilter): [PipelineStage.Match, PipelineStage.Match] => {
  const { userId, type, isDone, rejected, from, to } = filter;
  const types = { type: { $in: type === undefined ? [...PAYMENT_TYPES] : [type] } };
  const created = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(to === undefined ? {} : { $lte: to }),
  };
  const rest = {
    is_done: { $in: isDone === undefined ? EITHER : [isDone] },
    is_rejected: { $in: rejected === undefined ? EITHER : [rejected] },
    ...(from === undefined && to === undefined ? {} : { created_at: created }),
  };
  return userId === undefined
    ? [{ $match: types }, { $match: rest }]
    : [{ $match: { user_id: userId } }, { $match: { ...types, ...rest } }];
};

/** The number of payments, their smallest and their largest id. */
interface Extent {
  total: number;
  first: number;
  last: number;
}

// Counts even when all payments match, because the server's own count may stay wrong after a crash.
const extentOf = async (payments: Models['payments'], filter: PaymentFilter): Promise<Extent> => {
  // Grouping by type, the first field of the index, reads no payments.
  const each = {
    $group: { _id: '$type', total: { $sum: 1 }, first: { $min: '$_id' }, last: { $max: '$_id' } },
  };
  const extents = await payments.aggregate<Extent>([...toStages(filter), each]);
  // Without a payment `first` is Infinity and `last` -Infinity: an empty range of ids.
  return {
    total: extents.reduce((sum, { total }) => sum + total, 0),
    first: Math.min(...extents.map(({ first }) => first)),
    last: Math.max(...extents.map(({ last }) => last)),
  };
};

export const createPage =
  ({ payments }: Models) =>
  async (filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>> => {
    const { userId, from, to } = filter;
    const ascending = filter.order === 'ASC';
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    const isPeriod = userId === undefined && (from !== undefined || to !== undefined);
    // Ids increase with time: payments outside the id range of the period need not be read.
    const extent = isPeriod ? await extentOf(payments, filter) : undefined;
    const bound = {
      ...(extent === undefined ? {} : { $gte: extent.first, $lte: extent.last }),
      ...(after === undefined ? {} : ascending ? { $gt: after } : { $lt: after }),
    };
    const [indexed, rest] = toStages(filter);
    const rows = await payments.aggregate<PaymentDocument>([
      indexed,
      { $match: { ...rest.$match, ...(Object.keys(bound).length === 0 ? {} : { _id: bound }) } },
      { $sort: { _id: ascending ? 1 : -1 } },
      { $skip: request.mode === 'page' ? request.skip : 0 },
      { $limit: request.perPage + 1 },
    ]);
    const total =
      request.mode === 'cursor' ? undefined : (extent ?? (await extentOf(payments, filter))).total;
    return toPage(rows.map(fromDocument), request, ({ id }) => id, total);
  };

/** The payments of one type that were created in one hour, complete or not. */
export interface PaymentHour {
  /** Start of the hour. */
  hour: Date;
  type: PaymentType;
  isDone: boolean;
  count: number;
}

interface HourGroup {
  _id: { hour: Date; isDone: boolean };
  count: number;
}

const HOUR_OF = { $dateTrunc: { date: '$created_at', unit: 'hour' } };

/** Hours without payments are left out. The filter's index contains all fields. */
export const createHours =
  ({ payments }: Models) =>
  async (type: PaymentType, from: Date): Promise<PaymentHour[]> => {
    const groups = await payments.aggregate<HourGroup>([
      ...toStages({ type, from, order: 'ASC' }),
      { $group: { _id: { hour: HOUR_OF, isDone: '$is_done' }, count: { $sum: 1 } } },
    ]);
    return groups.map(({ _id: { hour, isDone }, count }) => ({ hour, type, isDone, count }));
  };
