/**
 * `/account-deletion`, where users delete their account or cancel the deletion in a browser. Every step calls the public API, so the API's
 * limits, order of checks and guarantees apply.
 */

import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { forbidden, isAppError, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { addFormPages, type Fields, newGuest, type Outcome } from '@fitness/shared/pages/form-pages.ts';
import { createLogIn } from '@fitness/shared/pages/log-in.ts';
import { CURRENT_PASSWORD, missingIn } from '@fitness/shared/pages/views.ts';
import { createVisits, type SignedIn, type Visit, type Visits } from '@fitness/shared/pages/visit.ts';
import {
  type ApiAnswer,
  beginSession,
  call,
  endSession,
  isSessionOf,
  type PageContext,
  type PageDependencies,
  type Problem,
  problemIn,
  retryAfterIn,
} from '@fitness/shared/pages/visitor.ts';
import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../../dependencies.ts';
import { readBlockers, type ShownBlocker } from '../../request/deletion-blockers.ts';
import { DELETION_PATH } from '../../request/page-paths.ts';
import {
  CODE,
  codePage,
  keptPage,
  loginPage,
  overviewPage,
  pendingPage,
  refusalPage,
  type ShownSchedule,
  scheduledPage,
  url,
} from './pages.ts';

type DeletionDependencies = Pick<Dependencies, 'app' | 'identity'>;

interface Account {
  username: string;
  /** Undefined while no deletion is pending. */
  schedule: ShownSchedule | undefined;
}

interface DeletionContext extends PageContext, DeletionDependencies {
  visits: Visits;
}

/** Lifetime of the cookie and its session, which is longer than the lifetime of a code. */
export const LIFETIME_S = 15 * 60;

export const addAccountDeletion = async (
  server: FastifyInstance,
  dependencies: PageDependencies,
  { app, identity }: DeletionDependencies,
): Promise<void> => {
  const visits = createVisits(
    { path: DELETION_PATH, lifetimeS: LIFETIME_S, baseUrl: dependencies.baseUrl },
    dependencies,
  );
  await addFormPages(server, dependencies, {
    visits,
    stale: message('account_deletion.stale'),
    refusalPage,
    addRoutes: (scope, { contextOf, send, submit }) => {
      scope.get(DELETION_PATH, async (request, reply) =>
        send(
          reply,
          await show({ ...contextOf(request), app, identity, visits }, visits.read(request.headers.cookie)),
        ),
      );
      scope.post(DELETION_PATH, (request, reply) =>
        submit(request, reply, (context, visit, fields) =>
          act({ ...context, app, identity, visits }, visit, fields),
        ),
      );
    },
  });
};

const logIn = createLogIn<DeletionContext, void>({
  page: ({ app }, view) => loginPage(app, view),
  enter: async (context, visit) => {
    await beginSession(context, visit, { page: 'account_deletion', seconds: LIFETIME_S });
    return { location: url(context.locale), visit };
  },
  open: async ({ dependencies }, { token }) => {
    if (!isSessionOf(await dependencies.callerOf(token), 'account_deletion'))
      throw forbidden('no session of this page');
  },
  sessionEnded: message('account_deletion.session_over'),
});

const show = async (context: DeletionContext, visit: Visit | undefined): Promise<Outcome> => {
  if (visit?.kind !== 'user') return showEnd(context, visit) ?? logIn.show(context, visit);
  const { step } = context.request.query as { step?: unknown };
  return logIn.whileSignedIn(context, visit, () => showAccount(context, visit, step === 'code'));
};

const act = async (context: DeletionContext, visit: Visit, fields: Fields): Promise<Outcome> => {
  if (visit.kind === 'guest') return logIn.submit(context, visit, fields);
  return logIn.whileSignedIn(context, visit, async () => {
    switch (fields.action) {
      case 'send_code':
        return sendCode(context, visit, fields);
      case 'confirm':
        return confirm(context, visit, fields);
      case 'cancel':
        return cancel(context, visit);
      case 'keep':
        await endSession(context, visit);
        return end(context, { outcome: 'kept' });
      case 'sign_out':
        await endSession(context, visit);
        return { location: url(context.locale), visit: null };
      default:
        return showAccount(context, visit, false);
    }
  });
};

type End = { outcome: 'kept' | 'cancelled' } | ({ outcome: 'scheduled' } & ShownSchedule);

const isEnd = (sealed: Partial<End> | undefined): sealed is End => sealed?.outcome !== undefined;

/** Redirects to the last page. Its new visit lets only this browser read it again, in any language. */
const end = (context: DeletionContext, reached: End): Outcome => {
  const visit = newGuest(context);
  const sealed = context.visits.seal(visit, { ...reached });
  return { location: url(context.locale, `&end=${sealed}`), visit };
};

const showEnd = (
  { request, locale, visits }: DeletionContext,
  visit: Visit | undefined,
): Outcome | undefined => {
  const { end: sealed } = request.query as { end?: unknown };
  if (visit === undefined || typeof sealed !== 'string') return undefined;
  const reached = visits.unseal(visit, sealed) as Partial<End> | undefined;
  // A sign-in of this visit may have sealed another value.
  if (!isEnd(reached)) return undefined;
  const path = `${DELETION_PATH}?end=${sealed}`;
  return {
    page:
      reached.outcome === 'scheduled'
        ? scheduledPage(locale, path, reached)
        : keptPage(locale, path, reached.outcome),
  };
};

const readAccount = async (context: DeletionContext, visit: SignedIn): Promise<Account> => {
  const answer = await call(context, visit, { method: 'GET', path: '/auth/me' });
  if (answer.status !== 200) throw unavailable(`/auth/me returned ${answer.status}`);
  const user = (answer.body.user ?? {}) as { username?: string } & {
    [Key in keyof ShownSchedule]?: string | null;
  };
  const { username = '', deletion_requested_at, deletion_scheduled_at } = user;
  const schedule =
    deletion_requested_at == null || deletion_scheduled_at == null
      ? undefined
      : { deletion_requested_at, deletion_scheduled_at };
  return { username, schedule };
};

/** Undefined if the blockers cannot be evaluated, or not be shown to this account. The deletion itself checks them anyway. */
const findBlockers = async (
  { locale, dependencies, identity }: DeletionContext,
  { token }: SignedIn,
): Promise<ShownBlocker[] | undefined> => {
  const caller = await dependencies.callerOf(token);
  try {
    return await readBlockers(identity, caller, translator(locale));
  } catch (error) {
    if (isAppError(error) && error.kind !== 'unauthenticated') return undefined;
    throw error;
  }
};

interface Refused {
  problem?: Problem;
  /** The blockers of a 409. */
  blockers?: ShownBlocker[] | undefined;
  code?: string | undefined;
}

const showAccount = async (
  context: DeletionContext,
  visit: SignedIn,
  isCodeStep: boolean,
  { problem, blockers: conflictBlockers, code }: Refused = {},
): Promise<Outcome> => {
  const view = { locale: context.locale, csrf: context.visits.csrfOf(visit), problem };
  const { username, schedule } = await readAccount(context, visit);
  if (schedule !== undefined) return { page: pendingPage({ ...view, username, schedule }) };
  if (isCodeStep) {
    const now = context.dependencies.clock.now().getTime();
    const deletionAt = new Date(now + context.app.graceDays * DAY_MS);
    return { page: codePage({ ...view, username, deletionAt, code }) };
  }
  const blockers = conflictBlockers ?? (await findBlockers(context, visit));
  return { page: overviewPage({ ...view, username, blockers }) };
};

/** The outcome of either phase: the deletion is scheduled, blocked or refused. `code` is set in the second phase. */
const deletionOutcome = async (
  context: DeletionContext,
  visit: SignedIn,
  answer: ApiAnswer,
  code: string | undefined,
): Promise<Outcome> => {
  if (answer.status === 202) {
    // Every credential of the account is revoked, including the session of this page.
    const { deletion_requested_at, deletion_scheduled_at } = answer.body as unknown as ShownSchedule;
    return end(context, { outcome: 'scheduled', deletion_requested_at, deletion_scheduled_at });
  }
  const problem = problemIn(answer);
  const blockers = answer.status === 409 ? (answer.body.blockers as ShownBlocker[]) : undefined;
  const isCodeStep = code !== undefined && blockers === undefined;
  const shown = await showAccount(context, visit, isCodeStep, { problem, blockers, code });
  return { ...shown, retryAfter: retryAfterIn(answer) };
};

const sendCode = async (context: DeletionContext, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const problem = missingIn(context.locale, [CURRENT_PASSWORD], fields);
  if (problem !== undefined) return showAccount(context, visit, false, { problem });
  const body = { current_password: fields.password ?? '' };
  const answer = await call(context, visit, { method: 'POST', path: '/auth/delete-account', body });
  // The redirect prevents a reload from sending another SMS.
  if (answer.status === 200) return { location: url(context.locale, '&step=code') };
  return deletionOutcome(context, visit, answer, undefined);
};

const confirm = async (context: DeletionContext, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const { password = '', code = '' } = fields;
  const problem = missingIn(context.locale, [CODE, CURRENT_PASSWORD], fields);
  if (problem !== undefined) return showAccount(context, visit, true, { problem, code });
  const body = { current_password: password, confirmation_code: code };
  const answer = await call(context, visit, { method: 'POST', path: '/auth/delete-account', body });
  return deletionOutcome(context, visit, answer, code);
};

const cancel = async (context: DeletionContext, visit: SignedIn): Promise<Outcome> => {
  const answer = await call(context, visit, { method: 'DELETE', path: '/auth/delete-account' });
  if (answer.status !== 200) return showAccount(context, visit, false, { problem: problemIn(answer) });
  await endSession(context, visit).catch((error: unknown) => {
    // The deletion is cancelled anyway, and the session expires.
    context.request.log.warn({ err: error }, 'the session of a page could not be ended');
  });
  return end(context, { outcome: 'cancelled' });
};
