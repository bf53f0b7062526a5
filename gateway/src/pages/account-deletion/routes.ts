/**
 * `/account-deletion`: an account is deleted, and its deletion cancelled, by a browser. Every step is a call of the public
 * API, so that its limits, its order of checks and its guarantees are those of the page.
 */

import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { forbidden, isAppError, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyInstance } from 'fastify';
import type { App, Dependencies } from '../../dependencies.ts';
import type { ApiAnswer } from '../../request/call-api.ts';
import { readBlockers, type ShownBlocker } from '../../request/deletion-blockers.ts';
import { DELETION_PATH } from '../../request/page-paths.ts';
import {
  type Asking,
  beginSession,
  call,
  endSession,
  isSessionOf,
  type Problem,
  problemIn,
  retryAfterIn,
} from '../api.ts';
import { addFormPages, type Fields, newGuest, type Outcome } from '../form-pages.ts';
import { createLogIn } from '../log-in.ts';
import { CURRENT_PASSWORD, missingIn } from '../views.ts';
import { createVisits, type SignedIn, type Visit, type Visits } from '../visit.ts';
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
} from './pages.ts';

type PageDependencies = Asking['dependencies'] & Pick<Dependencies, 'addressLimit' | 'app' | 'openRequests'>;

interface Account {
  username: string;
  /** Undefined while no deletion is pending. */
  schedule: ShownSchedule | undefined;
}

interface PageAsking extends Asking {
  app: App;
  visits: Visits;
}

/** Lifetime of the cookie and of its session at identity: longer than a code is valid. */
export const LIFETIME_S = 15 * 60;

export const addAccountDeletion = async (
  app: FastifyInstance,
  dependencies: PageDependencies,
): Promise<void> => {
  const { app: named } = dependencies;
  const visits = createVisits(
    { path: DELETION_PATH, lifetimeS: LIFETIME_S, baseUrl: dependencies.baseUrl },
    dependencies,
  );
  await addFormPages(app, dependencies, {
    visits,
    stale: message('account_deletion.stale'),
    refusalPage,
    addRoutes: (scope, { asking, send, submit }) => {
      scope.get(DELETION_PATH, async (request, reply) =>
        send(
          reply,
          await show({ ...asking(request), app: named, visits }, visits.read(request.headers.cookie)),
        ),
      );
      scope.post(DELETION_PATH, (request, reply) =>
        submit(request, reply, (asked, visit, fields) =>
          act({ ...asked, app: named, visits }, visit, fields),
        ),
      );
    },
  });
};

const logIn = createLogIn<PageAsking, void>({
  page: ({ app }, view) => loginPage(app, view),
  enter: async (asking, visit) => {
    await beginSession(asking, visit, { page: 'account_deletion', seconds: LIFETIME_S });
    return { location: pathOf(asking), visit };
  },
  open: async ({ dependencies }, { token }) => {
    if (!isSessionOf(await dependencies.callerOf(token), 'account_deletion'))
      throw forbidden('no session of this page');
  },
  sessionOver: message('account_deletion.session_over'),
});

const show = async (asking: PageAsking, visit: Visit | undefined): Promise<Outcome> => {
  if (visit?.kind !== 'user') return showEnd(asking, visit) ?? logIn.show(asking, visit);
  const { step } = asking.request.query as { step?: unknown };
  return logIn.whileSignedIn(asking, visit, () => showAccount(asking, visit, step === 'code'));
};

const act = async (asking: PageAsking, visit: Visit, fields: Fields): Promise<Outcome> => {
  if (visit.kind === 'guest') return logIn.submit(asking, visit, fields);
  return logIn.whileSignedIn(asking, visit, async () => {
    switch (fields.action) {
      case 'send_code':
        return sendCode(asking, visit, fields);
      case 'confirm':
        return confirm(asking, visit, fields);
      case 'cancel':
        return cancel(asking, visit);
      case 'keep':
        await endSession(asking, visit);
        return end(asking, { outcome: 'kept' });
      case 'sign_out':
        await endSession(asking, visit);
        return { location: pathOf(asking), visit: null };
      default:
        return showAccount(asking, visit, false);
    }
  });
};

const pathOf = ({ locale }: PageAsking, step = ''): string => `${DELETION_PATH}?lang=${locale}${step}`;

type End = { outcome: 'kept' | 'cancelled' } | ({ outcome: 'scheduled' } & ShownSchedule);

const isEnd = (sealed: Partial<End> | undefined): sealed is End => sealed?.outcome !== undefined;

/** Leads to the last page. It is one of a new visit, so that it can be read again in another language, and by nobody else. */
const end = (asking: PageAsking, reached: End): Outcome => {
  const visit = newGuest(asking);
  const sealed = asking.visits.seal(visit, { ...reached });
  return { location: pathOf(asking, `&end=${sealed}`), visit };
};

const showEnd = ({ request, locale, visits }: PageAsking, visit: Visit | undefined): Outcome | undefined => {
  const { end: sealed } = request.query as { end?: unknown };
  if (visit === undefined || typeof sealed !== 'string') return undefined;
  const reached = visits.unseal(visit, sealed) as Partial<End> | undefined;
  // The log-in of this visit may have sealed something else.
  if (!isEnd(reached)) return undefined;
  const path = `${DELETION_PATH}?end=${sealed}`;
  return {
    page:
      reached.outcome === 'scheduled'
        ? scheduledPage(locale, path, reached)
        : keptPage(locale, path, reached.outcome),
  };
};

const readAccount = async (asking: PageAsking, visit: SignedIn): Promise<Account> => {
  const answer = await call(asking, visit, { method: 'GET', path: '/auth/me' });
  if (answer.status !== 200) throw unavailable(`/auth/me answered ${answer.status}`);
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

/** Undefined when they cannot be evaluated, or not be shown to this account: the steps of the deletion check them anyway. */
const findBlockers = async (
  { locale, dependencies }: PageAsking,
  { token }: SignedIn,
): Promise<ShownBlocker[] | undefined> => {
  const caller = await dependencies.callerOf(token);
  try {
    return await readBlockers(dependencies.identity, caller, translator(locale));
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
  asking: PageAsking,
  visit: SignedIn,
  isCodeStep: boolean,
  { problem, blockers: known, code }: Refused = {},
): Promise<Outcome> => {
  const view = { locale: asking.locale, csrf: asking.visits.csrfOf(visit), problem };
  const { username, schedule } = await readAccount(asking, visit);
  if (schedule !== undefined) return { page: pendingPage({ ...view, username, schedule }) };
  if (isCodeStep) {
    const now = asking.dependencies.clock.now().getTime();
    const deletionAt = new Date(now + asking.app.graceDays * DAY_MS);
    return { page: codePage({ ...view, username, deletionAt, code }) };
  }
  const blockers = known ?? (await findBlockers(asking, visit));
  return { page: overviewPage({ ...view, username, blockers }) };
};

/** What both phases have in common: the deletion is scheduled, blocked or refused. `code`: of the second one. */
const deletionOutcome = async (
  asking: PageAsking,
  visit: SignedIn,
  answer: ApiAnswer,
  code: string | undefined,
): Promise<Outcome> => {
  if (answer.status === 202) {
    // Every credential of the account is revoked, that of this page included.
    const { deletion_requested_at, deletion_scheduled_at } = answer.body as unknown as ShownSchedule;
    return end(asking, { outcome: 'scheduled', deletion_requested_at, deletion_scheduled_at });
  }
  const problem = problemIn(answer);
  const blockers = answer.status === 409 ? (answer.body.blockers as ShownBlocker[]) : undefined;
  const isCodeStep = code !== undefined && blockers === undefined;
  const shown = await showAccount(asking, visit, isCodeStep, { problem, blockers, code });
  return { ...shown, retryAfter: retryAfterIn(answer) };
};

const sendCode = async (asking: PageAsking, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const problem = missingIn(asking.locale, [CURRENT_PASSWORD], fields);
  if (problem !== undefined) return showAccount(asking, visit, false, { problem });
  const body = { current_password: fields.password ?? '' };
  const answer = await call(asking, visit, { method: 'POST', path: '/auth/delete-account', body });
  // A reloaded page must not send another SMS.
  if (answer.status === 200) return { location: pathOf(asking, '&step=code') };
  return deletionOutcome(asking, visit, answer, undefined);
};

const confirm = async (asking: PageAsking, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const { password = '', code = '' } = fields;
  const problem = missingIn(asking.locale, [CODE, CURRENT_PASSWORD], fields);
  if (problem !== undefined) return showAccount(asking, visit, true, { problem, code });
  const body = { current_password: password, confirmation_code: code };
  const answer = await call(asking, visit, { method: 'POST', path: '/auth/delete-account', body });
  return deletionOutcome(asking, visit, answer, code);
};

const cancel = async (asking: PageAsking, visit: SignedIn): Promise<Outcome> => {
  const answer = await call(asking, visit, { method: 'DELETE', path: '/auth/delete-account' });
  if (answer.status !== 200) return showAccount(asking, visit, false, { problem: problemIn(answer) });
  await endSession(asking, visit).catch((error: unknown) => {
    // The deletion is cancelled all the same. The session ends by itself.
    asking.request.log.warn({ err: error }, 'the session of a page could not be ended');
  });
  return end(asking, { outcome: 'cancelled' });
};
