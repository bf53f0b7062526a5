/** The payments, gyms and training services of a member. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { call } from '../call.ts';
import { type Content, cell, link } from '../content.ts';
import { list, type RowOf } from '../list.ts';
import { memberIdIn } from '../members.ts';
import type { Operator } from '../operator.ts';
import { descriptionOf, type Payment, payments } from '../payment.ts';
import { licenseState, updateGym } from './licenses.ts';

export const gyms = call('GET /gyms', ['gyms.view_all']);
export const services = call('GET /training-services');

const paymentState = ({ is_done: isDone, rejected_at: rejectedAt }: Payment): Content => {
  if (rejectedAt !== null) return cell.badge('', message('ops.payment.rejected'));
  return isDone
    ? cell.badge('good', message('ops.payment.done'))
    : cell.badge('waiting', message('ops.payment.open'));
};

const ofMember = (operator: Operator) => ({ query: { user_id: memberIdIn(operator), per_page: 10 } });

export const paymentList = list({
  call: payments,
  input: ofMember,
  page: 'payments',
  title: 'ops.member.payments',
  none: 'ops.member.payments.none',
  columns: [
    ['ops.id', ({ id }) => String(id)],
    ['ops.payment.type', ({ type }) => cell.word('ops.payment', type)],
    ['ops.amount', ({ amount }) => cell.amount(amount), 'number'],
    ['ops.payment.state', paymentState],
    ['ops.description', descriptionOf],
    ['ops.ref_number', ({ meta }) => meta?.ref_number ?? meta?.reference],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});

const activity = ({ is_active: isActive }: { is_active: boolean }): Message =>
  message(isActive ? 'ops.member.shown' : 'ops.member.hidden');

type Gym = RowOf<'GET /gyms'>;

const hasLicense = ({ gym_license_image: image, gym_license_approved: approved }: Gym): boolean =>
  image != null || approved != null;

const gymName = (gym: Gym): Content => {
  const { id, name } = gym;
  const text = name ?? message('language.id', { id });
  return (operator) =>
    hasLicense(gym) && updateGym.isFor(operator) ? link(text, 'licenses', { kind: 'gym', id }) : text;
};

export const gymList = list({
  call: gyms,
  input: ofMember,
  page: 'gyms',
  title: 'ops.member.gyms',
  none: 'ops.member.gyms.none',
  columns: [
    ['ops.member.name', gymName],
    ['ops.id', ({ id }) => String(id)],
    ['ops.member.state', activity],
    ['ops.member.license', (gym) => hasLicense(gym) && licenseState(gym.gym_license_approved)],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});

export const serviceList = list({
  call: services,
  input: ofMember,
  page: 'services',
  title: 'ops.member.services',
  none: 'ops.member.services.none',
  columns: [
    ['ops.member.name', ({ title }) => title],
    ['ops.id', ({ id }) => String(id)],
    ['ops.member.price', ({ price }) => cell.amount(price), 'number'],
    ['ops.member.state', activity],
    ['ops.created', ({ created_at: at }) => cell.time(at)],
  ],
});
