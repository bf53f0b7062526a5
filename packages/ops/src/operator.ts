/** One request of an operator, and what the pages need of the process that serves them. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { latinDigits } from '@fitness/shared/kernel/i18n/typed-day.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import type { View } from '@fitness/shared/pages/views.ts';
import type { ApiAnswer, ApiCall, Download } from '@fitness/shared/pages/visitor.ts';

export const OPS_PATH = '/ops';

/** Readiness of a service, as its health check reports it. */
export interface ServiceHealth {
  status: 'ready' | 'not_ready' | 'unknown';
  dependencies: Readonly<Record<string, unknown>>;
}

export interface OpsDependencies {
  clock: Clock;
  /** The names of the services. */
  services: readonly string[];
  readHealth(): Promise<Readonly<Record<string, ServiceHealth>>>;
  /** Payments in each of the last 24 hours. Undefined if the wallet does not answer. */
  paymentHours(operator: Operator): Promise<readonly PaymentCount[] | undefined>;
}

/** The items of one kind that wait for an operator. */
export interface Waiting {
  label: MessageKey;
  count: number;
  /** API timestamp of the oldest item, if its list shows it. */
  oldest?: string | undefined;
  /** Undefined if there is no limit. */
  lateAfterMs?: number | undefined;
}

/** What waits in one section. `kinds` is undefined if the services of the section do not answer. */
export interface WaitingInSection {
  slug: string;
  title: MessageKey;
  kinds: readonly Waiting[] | undefined;
}

/** The number of deposits or withdrawals in one hour. */
export interface PaymentCount {
  /** Start of the hour, in ISO 8601. */
  hour: string;
  type: 'deposit' | 'withdrawal';
  is_done: boolean;
  count: number;
}

export interface Operator extends View {
  t: Translator;
  caller: UserCaller;
  /** Path of the section below `/ops`, with the id of its item. Forms and pages of lists lead there. */
  slug: string;
  /** The page's query parameters, which contain no personal data. */
  query: Fields;
  /** The fields of the form that the API has refused. */
  sent?: Fields;
  /** Calls the public API as the operator. Throws 401 for an ended session. */
  api(call: ApiCall): Promise<ApiAnswer>;
  /** Calls an internal route of a service as the operator. Throws 503 if the service does not answer. */
  internal(service: string, call: ApiCall): Promise<ApiAnswer>;
  /** Streams a file of the public API. Throws 401 for an ended session. */
  download(path: string): Promise<Download>;
  /** What is waiting in each section that the operator may use. Read once per page. */
  waiting(): Promise<readonly WaitingInSection[]>;
  /** The outbox and queues of a service. Undefined if it does not answer. Read once per page. */
  status(service: string): Promise<OperationsStatus | undefined>;
  dependencies: OpsDependencies;
}

export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** A query, without the question mark. Parameters without a value are omitted. */
export const queryOf = (parameters: Parameters): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, String(value));
  return query.toString();
};

/** The address of a section. */
export const pathOf = ({ locale }: Pick<View, 'locale'>, slug: string, parameters: Parameters = {}): string =>
  `${OPS_PATH}${slug === '' ? '' : `/${slug}`}?${queryOf({ lang: locale, ...parameters })}`;

/** An id from a form or an address. Undefined for an invalid id, for which the API would return 404. */
export const idIn = (text: string | undefined): string | undefined =>
  /^[1-9]\d{0,14}$/.test(text ?? '') ? text : undefined;

/** Like {@link idIn}, for typed ids such as `#12` and `۱۲`. */
export const typedIdIn = (text: string | undefined): string | undefined =>
  idIn(
    latinDigits(text ?? '')
      .trim()
      .replace(/^#/, ''),
  );
