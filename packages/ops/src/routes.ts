/**
 * `/ops`, for operators with a second factor. Every action calls the public API, or an internal route of a service, as the operator. The
 * services check permissions and record actions, whatever a page shows.
 */

import { readFileSync } from 'node:fs';
import { isAppError, message, notFound } from '@fitness/shared/kernel/error.ts';
import { addFormPages, type Fields, type Outcome } from '@fitness/shared/pages/form-pages.ts';
import { createLogIn } from '@fitness/shared/pages/log-in.ts';
import { createVisits, type SignedIn, type Visit } from '@fitness/shared/pages/visit.ts';
import {
  beginSession,
  endSession,
  limitSession,
  type PageDependencies,
  problemIn,
  retryAfterIn,
} from '@fitness/shared/pages/visitor.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendAuditCsv } from './audit-csv.ts';
import type { Content } from './content.ts';
import { sendDocument } from './document.ts';
import { LIVE_PATH, LIVE_SCRIPT, loginPage, refusalPage, SECOND_FACTOR, sectionPage } from './frame.ts';
import { createLiveStream } from './live.ts';
import { OPS_PATH, type OpsDependencies, pathOf } from './operator.ts';
import { createPaymentHours } from './payment-hours.ts';
import { secondFactorSetUp } from './second-factor.ts';
import { contentOf, type Section } from './section.ts';
import { AUDIT_CSV_PATH, auditFiltersIn, auditLog } from './sections/audit-log.ts';
import {
  lacksSecondFactor,
  needsSetUp,
  type Opened,
  type OpsContext,
  openVisit,
  readUsername,
  sectionAt,
  sectionOf,
  sectionsFor,
} from './session.ts';

/** Idle timeout of the session at identity and of the cookie. Opening a page of `/ops` renews both. */
export const IDLE_S = 15 * 60;
/** Maximum lifetime of a session at identity. */
export const SESSION_S = 2 * 60 * 60;
const LIMIT = { page: 'ops', seconds: SESSION_S, idleSeconds: IDLE_S } as const;

export const addOps = async (
  app: FastifyInstance,
  dependencies: PageDependencies,
  { livePollMs, ...services }: Omit<OpsDependencies, 'paymentHours'> & { livePollMs: number },
): Promise<void> => {
  const visits = createVisits(
    { path: OPS_PATH, lifetimeS: IDLE_S, baseUrl: dependencies.baseUrl },
    dependencies,
  );
  const own = { services: { ...services, paymentHours: createPaymentHours() }, visits };
  const script = readFileSync(new URL('./live.js', import.meta.url));
  await addFormPages(app, dependencies, {
    visits,
    stale: message('account_deletion.stale'),
    refusalPage,
    addRoutes: (scope, { contextOf, send, submit }) => {
      const stream = createLiveStream(scope, livePollMs);
      const opsContextOf = (request: FastifyRequest): OpsContext => ({ ...contextOf(request), ...own });
      const visitOf = (request: FastifyRequest): Visit | undefined => visits.read(request.headers.cookie);
      const open = (request: FastifyRequest): Promise<Opened> =>
        openVisit(opsContextOf(request), visitOf(request));
      scope.get(LIVE_SCRIPT, async (_request, reply) =>
        reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(script),
      );
      scope.get(LIVE_PATH, async (request, reply) => {
        const { section: slug = '' } = request.query as Fields;
        await stream(request, reply, async () => {
          const { operator, sections } = await open(request);
          return { operator, section: sectionOf(sections, slug) };
        });
      });
      scope.get(`${OPS_PATH}/documents/:id`, async (request, reply) => {
        const { operator } = await open(request);
        return sendDocument(operator, reply);
      });
      scope.get(AUDIT_CSV_PATH, async (request, reply) => {
        const { operator, sections } = await open(request);
        sectionOf(sections, auditLog.slug);
        return sendAuditCsv(operator, auditFiltersIn(operator.query), reply);
      });
      for (const path of [OPS_PATH, `${OPS_PATH}/:section`, `${OPS_PATH}/:section/:id`]) {
        scope.get(path, async (request, reply) =>
          send(reply, await show(opsContextOf(request), visitOf(request), slugOf(request))),
        );
        scope.post(path, (request, reply) =>
          submit(request, reply, (context, visit, fields) =>
            act({ ...context, ...own }, visit, slugOf(request), fields),
          ),
        );
      }
    },
  });
};

/** A visit with the name of the operator, which each page shows. */
type OpenedPage = Opened & { username: string };

const logIn = createLogIn<OpsContext, OpenedPage>({
  page: (_context, view) => loginPage(view),
  enter: (context, visit, password) => enter(context, visit, password),
  open: async (context, visit) => {
    const opened = await openVisit(context, visit);
    return { ...opened, username: await readUsername(opened.operator) };
  },
  sessionEnded: message('ops.session_over'),
});

const slugOf = ({ params }: FastifyRequest): string => (params as { section?: string }).section ?? '';

const show = async (context: OpsContext, visit: Visit | undefined, slug: string): Promise<Outcome> => {
  if (visit?.kind !== 'user') return logIn.show(context, visit);
  if (await needsSetUp(context, visit)) return setUp(context, visit, secondFactorSetUp.show);
  return logIn.whileSignedIn(context, visit, async (opened) => {
    if (slug === SECOND_FACTOR) {
      await limitSession(context, visit, LIMIT);
      return secondFactorSetUp.showArmed(context, visit);
    }
    // Operators without access to the overview start at the first section that they may see.
    const isStart = slug === '' && !opened.sections.some((section) => section.slug === '');
    const shown = isStart ? (opened.sections[0]?.slug ?? '') : slug;
    const at = sectionAt(context, opened, shown);
    return showSection(context, at, await contentOf(at.section, at.operator));
  });
};

const act = async (context: OpsContext, visit: Visit, slug: string, fields: Fields): Promise<Outcome> => {
  if (visit.kind === 'guest') return logIn.submit(context, visit, fields);
  if (fields.action === 'sign_out') return signOut(context, visit);
  if (await needsSetUp(context, visit))
    return setUp(context, visit, () => secondFactorSetUp.act(context, visit, fields));
  return logIn.whileSignedIn(context, visit, async (opened) => {
    const secondFactorOutcome = secondFactorSetUp.actWhileOn(context, visit, fields);
    if (secondFactorOutcome !== undefined) return secondFactorOutcome;
    const at = sectionAt(context, opened, slug);
    const { section, operator } = at;
    const { actions, decisions = [] } = section;
    const named = [actions, ...decisions.map((one) => one.actions)].flatMap((all) =>
      Object.entries(all ?? {}),
    );
    const action = named.find(([name]) => name === fields.action)?.[1];
    if (action === undefined) throw notFound();
    const result = await action(operator, fields);
    if ('done' in result || 'query' in result) {
      const notice = 'done' in result ? { done: result.done } : {};
      return { location: pathOf(context, operator.slug, { ...result.query, ...notice }), visit };
    }
    if ('shown' in result) {
      const { shown, problem } = result;
      return showSection(context, { ...at, operator: { ...operator, problem } }, shown, true);
    }
    const problem = problemIn(result.refused);
    const refused = { ...operator, problem, sent: fields };
    const shown = await showSection(context, { ...at, operator: refused }, await contentOf(section, refused));
    return { ...shown, retryAfter: retryAfterIn(result.refused) };
  });
};

/** Runs a step of the setup, and renews the session as every page does. */
const setUp = (
  context: OpsContext,
  visit: SignedIn,
  step: (context: OpsContext, visit: SignedIn) => Outcome | Promise<Outcome>,
): Promise<Outcome> =>
  logIn.withFallback(context, async () => {
    await limitSession(context, visit, LIMIT);
    return step(context, visit);
  });

/** Shows a section, and renews the session and its cookie. Later background requests, such as live changes, do not renew them. */
const showSection = async (
  context: OpsContext,
  { section, operator, visit, sections, username }: OpenedPage & { section: Section },
  content: Content,
  isStep = false,
): Promise<Outcome> => {
  await limitSession(context, visit, LIMIT);
  const { done } = operator.query;
  const waiting = await operator.waiting();
  const notice = !isStep && done !== undefined ? await section.notice?.(operator, done) : undefined;
  return {
    page: sectionPage(operator, { section, sections, content, username, waiting, notice, isStep }),
    visit,
  };
};

/**
 * Starts the session of an operator with its limits. An operator without a second factor sets one up first. The session of any other
 * account is ended at once.
 */
const enter = async (context: OpsContext, visit: SignedIn, password: string): Promise<Outcome> => {
  const caller = await context.dependencies.callerOf(visit.token);
  if (lacksSecondFactor(caller)) {
    await beginSession(context, visit, LIMIT);
    return secondFactorSetUp.begin(context, visit, password);
  }
  if (sectionsFor(caller).length === 0) {
    await endSession(context, visit);
    return logIn.show(context, undefined, { notice: message('ops.not_for_you'), status: 403 });
  }
  await beginSession(context, visit, LIMIT);
  return { location: pathOf(context, ''), visit };
};

const signOut = async (context: OpsContext, visit: SignedIn): Promise<Outcome> => {
  try {
    await endSession(context, visit);
  } catch (error) {
    // The session has already ended.
    if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
  }
  return { location: pathOf(context, ''), visit: null };
};
