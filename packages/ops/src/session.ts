/** Who may use `/ops`, and what a page needs of a signed-in operator. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { AppError, isAppError, message, notFound } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import type { SignedIn, Visit, Visits } from '@fitness/shared/pages/visit.ts';
import { call, callOf, isSessionOf, type PageContext } from '@fitness/shared/pages/visitor.ts';
import type { FastifyRequest } from 'fastify';
import { call as declare } from './call.ts';
import { idIn, type Operator, type OpsDependencies, type WaitingInSection } from './operator.ts';
import { addressOf, maySee, type Section } from './section.ts';
import { SECTIONS } from './sections.ts';
import { readStatus } from './service-status.ts';
import { readWaiting } from './waiting.ts';

export interface OpsContext extends PageContext {
  services: OpsDependencies;
  visits: Visits;
}

export interface Opened {
  operator: Operator;
  visit: SignedIn;
  /** The sections that the operator may use. */
  sections: readonly Section[];
}

/** Throws 401 for an ended session, and 403 for a session without access to `/ops`. */
export const openVisit = async (context: OpsContext, visit: Visit | undefined): Promise<Opened> => {
  const { request, locale, services, visits } = context;
  if (visit?.kind !== 'user') throw sessionEnded();
  const caller = await context.dependencies.callerOf(visit.token);
  const sections = sectionsFor(caller);
  if (sections.length === 0) throw noAccess();
  let waiting: Promise<readonly WaitingInSection[]> | undefined;
  const statuses = new Map<string, Promise<OperationsStatus | undefined>>();
  const operator: Operator = {
    locale,
    t: translator(locale),
    csrf: visits.csrfOf(visit),
    caller,
    slug: '',
    query: queryOf(request),
    dependencies: services,
    waiting: () => {
      waiting ??= readWaiting(operator, sections);
      return waiting;
    },
    status: (service) => {
      const status = statuses.get(service) ?? readStatus(operator, service);
      statuses.set(service, status);
      return status;
    },
    api: (apiCall) => call(context, visit, apiCall),
    download: async (path) => context.dependencies.api.download(request, visit, path),
    internal: (service, internal) => callOf(context, visit, service, internal),
  };
  return { operator, visit, sections };
};

/**
 * The sections that the caller may use. Empty unless the token is a session of `/ops` or of no page, and the account has a second factor.
 * Every session of such an account has passed the second factor.
 */
export const sectionsFor = (caller: UserCaller): Section[] =>
  isSessionOf(caller, 'ops') && caller.hasSecondFactor === true
    ? SECTIONS.filter((section) => maySee(section, { caller }))
    : [];

/** Whether the caller would have sections with a second factor, and has none. */
export const lacksSecondFactor = (caller: UserCaller): boolean =>
  caller.hasSecondFactor !== true &&
  sectionsFor({
    ...caller,
    hasSecondFactor: true,
    permissions: new Set([...caller.permissions, ...(caller.withheld ?? [])]),
  }).length > 0;

export const needsSetUp = async ({ dependencies }: OpsContext, { token }: SignedIn): Promise<boolean> => {
  try {
    return lacksSecondFactor(await dependencies.callerOf(token));
  } catch (error) {
    // The page itself reports that the session has ended.
    if (isAppError(error) && error.kind === 'unauthenticated') return false;
    throw error;
  }
};

/** The query, with the id of the path added to it. */
const queryOf = ({ query, params }: FastifyRequest): Fields => {
  const { id } = params as { id?: string };
  return { ...(query as Fields), ...(id === undefined ? {} : { id }) };
};

export const sectionOf = (sections: readonly Section[], slug: string): Section => {
  const section = SECTIONS.find((one) => one.slug === slug);
  if (section === undefined) throw notFound();
  if (!sections.includes(section)) throw noAccess();
  return section;
};

/** The section at the path of the request. Throws 404 if the id of the path is missing, invalid or unexpected. */
export const sectionAt = <Visited extends Opened>(
  { request }: OpsContext,
  opened: Visited,
  slug: string,
): Visited & { section: Section } => {
  const section = sectionOf(opened.sections, slug);
  const { id } = request.params as { id?: string };
  const isComplete = section.within === undefined ? id === undefined : idIn(id) !== undefined;
  if (!isComplete) throw notFound();
  const operator = { ...opened.operator, slug: addressOf(section, opened.operator.query) };
  return { ...opened, operator, section };
};

const sessionEnded = (): AppError =>
  new AppError({ kind: 'unauthenticated', code: 'unauthenticated', message: message('ops.session_over') });

const noAccess = (): AppError =>
  new AppError({ kind: 'forbidden', code: 'forbidden', message: message('error.forbidden') });

const account = declare('GET /auth/me');

export const readUsername = async (operator: Operator): Promise<string> =>
  (await account.read(operator, {})).user.username;
