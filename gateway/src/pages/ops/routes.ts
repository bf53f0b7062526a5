/**
 * `/ops`, for operators with a second factor. Every action is a call of the public API, or of an internal route of a
 * service, in their name: the services check permissions and record what is done, whatever a page shows.
 */

import { readFileSync } from 'node:fs';
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { AppError, isAppError, message, notFound, unavailable } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { OperationsStatus } from '@fitness/shared/kernel/operations.ts';
import type { Html } from '@fitness/shared/pages/html.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../dependencies.ts';
import { OPS_PATH } from '../../request/page-paths.ts';
import type { Service } from '../../request/routes.ts';
import {
  type Asking,
  beginSession,
  call,
  callOf,
  download,
  endSession,
  isSessionOf,
  limitSession,
  problemIn,
  retryAfterIn,
} from '../api.ts';
import { addFormPages, type Fields, type Outcome } from '../form-pages.ts';
import { createLogIn } from '../log-in.ts';
import { createVisits, type SignedIn, type Visit, type Visits } from '../visit.ts';
import { sendAuditCsv } from './audit-csv.ts';
import { sendDocument } from './document.ts';
import { createLiveStreams } from './live.ts';
import { LIVE_PATH, LIVE_SCRIPT, loginPage, refusalPage, sectionPage } from './pages.ts';
import { createPaymentHours, type ReadPaymentHours } from './payment-hours.ts';
import { secondFactorSetUp } from './second-factor.ts';
import {
  addressOf,
  idIn,
  isDone,
  type Operator,
  pathOf,
  SECOND_FACTOR,
  type Section,
  type WaitingBySection,
} from './section.ts';
import { AUDIT_CSV_PATH, auditFiltersIn, auditLog } from './sections/audit-log.ts';
import { SECTIONS } from './sections.ts';
import { readStatus } from './service-status.ts';
import { readWaiting } from './waiting.ts';

type OpsDependencies = Asking['dependencies'] &
  Pick<Dependencies, 'addressLimit' | 'openRequests' | 'livePollMs'>;

interface OpsAsking extends Asking {
  visits: Visits;
  readPaymentHours: ReadPaymentHours;
}

/** Without a page of `/ops` being opened: at identity, and of the cookie. */
export const IDLE_S = 15 * 60;
/** Lifetime of a session at identity. */
export const SESSION_S = 2 * 60 * 60;
const LIMIT = { page: 'ops', seconds: SESSION_S, idleSeconds: IDLE_S } as const;

export const addOps = async (app: FastifyInstance, dependencies: OpsDependencies): Promise<void> => {
  const visits = createVisits(
    { path: OPS_PATH, lifetimeS: IDLE_S, baseUrl: dependencies.baseUrl },
    dependencies,
  );
  const readPaymentHours = createPaymentHours();
  const script = readFileSync(new URL('./live.js', import.meta.url));
  await addFormPages(app, dependencies, {
    visits,
    stale: message('account_deletion.stale'),
    refusalPage,
    addRoutes: (scope, { asking, send, submit }) => {
      const streams = createLiveStreams(scope, dependencies.livePollMs);
      const ask = (request: FastifyRequest): OpsAsking => ({ ...asking(request), visits, readPaymentHours });
      const visitOf = (request: FastifyRequest): Visit | undefined => visits.read(request.headers.cookie);
      scope.get(LIVE_SCRIPT, async (_request, reply) =>
        reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(script),
      );
      scope.get(LIVE_PATH, async (request, reply) => {
        const { section: slug = '' } = request.query as Fields;
        await streams.stream(reply, async () => {
          const { operator, sections } = await openVisit(ask(request), visitOf(request));
          return { operator, section: sectionOf(sections, slug) };
        });
      });
      scope.get(`${OPS_PATH}/documents/:id`, async (request, reply) => {
        const { operator } = await openVisit(ask(request), visitOf(request));
        return sendDocument(operator, request, reply);
      });
      scope.get(AUDIT_CSV_PATH, async (request, reply) => {
        const { operator, sections } = await openVisit(ask(request), visitOf(request));
        sectionOf(sections, auditLog.slug);
        return sendAuditCsv(operator, auditFiltersIn(operator.query), reply);
      });
      for (const path of [OPS_PATH, `${OPS_PATH}/:section`, `${OPS_PATH}/:section/:id`]) {
        scope.get(path, async (request, reply) =>
          send(reply, await show(ask(request), visitOf(request), slugOf(request))),
        );
        scope.post(path, (request, reply) =>
          submit(request, reply, (asked, visit, fields) =>
            act({ ...asked, visits, readPaymentHours }, visit, slugOf(request), fields),
          ),
        );
      }
    },
  });
};

const logIn = createLogIn<OpsAsking, Opened>({
  page: (_asking, view) => loginPage(view),
  enter: (asking, visit, password) => enter(asking, visit, password),
  open: async (asking, visit) => {
    const opened = await openVisit(asking, visit);
    return { ...opened, username: await readUsername(opened.operator) };
  },
  sessionOver: message('ops.session_over'),
});

const slugOf = ({ params }: FastifyRequest): string => (params as { section?: string }).section ?? '';

const show = async (asking: OpsAsking, visit: Visit | undefined, slug: string): Promise<Outcome> => {
  if (visit?.kind !== 'user') return logIn.show(asking, visit);
  if (await needsSetUp(asking, visit)) return setUp(asking, visit, secondFactorSetUp.show);
  return logIn.whileSignedIn(asking, visit, async (opened) => {
    if (slug === SECOND_FACTOR) {
      await limitSession(asking, visit, LIMIT);
      return secondFactorSetUp.showArmed(asking, visit);
    }
    // The first page of an operator who may not see the overview is the first one that they may see.
    const isStart = slug === '' && !opened.sections.some((section) => section.slug === '');
    const shown = isStart ? (opened.sections[0]?.slug ?? '') : slug;
    const section = sectionAt(asking, opened, shown);
    return showSection(asking, opened, section, await section.show(opened.operator));
  });
};

const act = async (asking: OpsAsking, visit: Visit, slug: string, fields: Fields): Promise<Outcome> => {
  if (visit.kind === 'guest') return logIn.submit(asking, visit, fields);
  if (fields.action === 'sign_out') return signOut(asking, visit);
  if (await needsSetUp(asking, visit))
    return setUp(asking, visit, () => secondFactorSetUp.act(asking, visit, fields));
  return logIn.whileSignedIn(asking, visit, async (opened) => {
    const ofSecondFactor = secondFactorSetUp.actWhileOn(asking, visit, fields);
    if (ofSecondFactor !== undefined) return ofSecondFactor;
    const section = sectionAt(asking, opened, slug);
    const action = Object.entries(section.actions ?? {}).find(([name]) => name === fields.action)?.[1];
    if (action === undefined) throw notFound();
    const { operator } = opened;
    const result = await action(operator, fields);
    if ('done' in result || 'query' in result) {
      const notice = 'done' in result ? `&done=${result.done}` : '';
      const query = `${result.query ?? ''}${notice}`;
      return { location: pathOf(asking, addressOf(section, operator.query), query), visit };
    }
    if ('shown' in result) {
      const { shown, problem } = result;
      const withProblem = { ...opened, operator: { ...operator, problem } };
      return showSection(asking, withProblem, section, shown, true);
    }
    const { refused } = result;
    const problem = problemIn(refused);
    const refusedOperator = { ...operator, problem, sent: fields };
    const shown = await showSection(
      asking,
      { ...opened, operator: refusedOperator },
      section,
      await section.show(refusedOperator),
    );
    return { ...shown, retryAfter: retryAfterIn(refused) };
  });
};

interface Opened {
  operator: Operator;
  visit: SignedIn;
  sections: readonly Section[];
  username: string;
}

/** Throws 401 for a session that has ended, and 403 for one that may not be here. */
const openVisit = async (asking: OpsAsking, visit: Visit | undefined): Promise<Omit<Opened, 'username'>> => {
  const { request, locale, dependencies, visits, readPaymentHours } = asking;
  if (visit?.kind !== 'user') throw sessionOver();
  const caller = await dependencies.callerOf(visit.token);
  const sections = sectionsFor(caller);
  if (sections.length === 0) throw notHere();
  let waiting: Promise<WaitingBySection> | undefined;
  const statuses = new Map<Service, Promise<OperationsStatus | undefined>>();
  const operator: Operator = {
    locale,
    t: translator(locale),
    csrf: visits.csrfOf(visit),
    caller,
    query: queryOf(request),
    dependencies,
    waiting: () => {
      waiting ??= readWaiting(operator, sections);
      return waiting;
    },
    status: (service) => {
      const status = statuses.get(service) ?? readStatus(operator, service);
      statuses.set(service, status);
      return status;
    },
    paymentHours: () => readPaymentHours(operator),
    api: (apiCall) => call(asking, visit, apiCall),
    download: (path) => download(asking, visit, path),
    internal: (service, internal) => callOf(asking, visit, service, internal),
  };
  return { operator, visit, sections };
};

/** None for a token that is no session, for the session of another page, and for an account without a second factor: every session of others has passed it. */
const sectionsFor = (caller: UserCaller): Section[] =>
  isSessionOf(caller, 'ops') && caller.hasSecondFactor === true
    ? SECTIONS.filter(({ permissions }) =>
        permissions.some((all) => all.every((permission) => can(caller, permission))),
      )
    : [];

/** An operator who would have sections with a second factor. */
const lacksSecondFactor = (caller: UserCaller): boolean =>
  caller.hasSecondFactor !== true &&
  sectionsFor({
    ...caller,
    hasSecondFactor: true,
    permissions: new Set([...caller.permissions, ...(caller.withheld ?? [])]),
  }).length > 0;

const needsSetUp = async ({ dependencies }: OpsAsking, { token }: SignedIn): Promise<boolean> => {
  try {
    return lacksSecondFactor(await dependencies.callerOf(token));
  } catch (error) {
    // The page says that the session has ended.
    if (isAppError(error) && error.kind === 'unauthenticated') return false;
    throw error;
  }
};

/** The id of a path is one of the query, as on the pages that have it there. */
const queryOf = ({ query, params }: FastifyRequest): Fields => {
  const { id } = params as { id?: string };
  return { ...(query as Fields), ...(id === undefined ? {} : { id }) };
};

/** Renews the session, as each page does. */
const setUp = (
  asking: OpsAsking,
  visit: SignedIn,
  step: (asking: OpsAsking, visit: SignedIn) => Outcome | Promise<Outcome>,
): Promise<Outcome> =>
  logIn.unlessOver(asking, async () => {
    await limitSession(asking, visit, LIMIT);
    return step(asking, visit);
  });

const sectionOf = (sections: readonly Section[], slug: string): Section => {
  const section = SECTIONS.find((one) => one.slug === slug);
  if (section === undefined) throw notFound();
  if (!sections.includes(section)) throw notHere();
  return section;
};

/** The section of the path of a request, which ends with an id where the section has one. */
const sectionAt = ({ request }: OpsAsking, { sections }: Opened, slug: string): Section => {
  const section = sectionOf(sections, slug);
  const { id } = request.params as { id?: string };
  const isComplete = section.within === undefined ? id === undefined : idIn(id) !== undefined;
  if (!isComplete) throw notFound();
  return section;
};

const sessionOver = (): AppError =>
  new AppError({ kind: 'unauthenticated', code: 'unauthenticated', message: message('ops.session_over') });

const notHere = (): AppError =>
  new AppError({ kind: 'forbidden', code: 'forbidden', message: message('error.forbidden') });

const readUsername = async (operator: Operator): Promise<string> => {
  const { status, body } = await operator.api({ method: 'GET', path: '/auth/me' });
  if (status !== 200) throw unavailable(`/auth/me answered ${status}`);
  return String((body.user as { username?: unknown }).username);
};

/** Renews the session and its cookie. What the page does by itself later, as the live changes, is no use of it. */
const showSection = async (
  asking: OpsAsking,
  { operator, visit, sections, username }: Opened,
  section: Section,
  content: Html,
  isStep = false,
): Promise<Outcome> => {
  await limitSession(asking, visit, LIMIT);
  const { done } = operator.query;
  const waiting = await operator.waiting();
  const notice = !isStep && isDone(done) ? await section.notice?.(operator, done) : undefined;
  return {
    page: sectionPage(operator, { section, sections, content, username, waiting, notice, isStep }),
    visit,
  };
};

/** The session of an account that may not be here ends at once; that of an operator soon. One without a second factor sets it up first. */
const enter = async (asking: OpsAsking, visit: SignedIn, password: string): Promise<Outcome> => {
  const caller = await asking.dependencies.callerOf(visit.token);
  if (lacksSecondFactor(caller)) {
    await beginSession(asking, visit, LIMIT);
    return secondFactorSetUp.begin(asking, visit, password);
  }
  if (sectionsFor(caller).length === 0) {
    await endSession(asking, visit);
    return logIn.show(asking, undefined, { notice: message('ops.not_for_you'), status: 403 });
  }
  await beginSession(asking, visit, LIMIT);
  return { location: pathOf(asking, ''), visit };
};

const signOut = async (asking: OpsAsking, visit: SignedIn): Promise<Outcome> => {
  try {
    await endSession(asking, visit);
  } catch (error) {
    // It has ended already.
    if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
  }
  return { location: pathOf(asking, ''), visit: null };
};
