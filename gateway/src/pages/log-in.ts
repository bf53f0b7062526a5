/** How a visitor of a page with forms signs in: the password first, then the code of a second factor on a page of its own. */
import { isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { type Asking, callLogin, type Problem, problemIn, retryAfterIn } from './api.ts';
import { type Fields, newGuest, type Outcome } from './form-pages.ts';
import { type Field, formOf, inputsOf, missingIn, PASSWORD, problemOf, TOTP, type View } from './views.ts';
import type { Guest, SignedIn, Visits } from './visit.ts';

export interface LoginView extends View {
  login?: string | undefined;
  /** Above the form. */
  notice?: Message | undefined;
  status?: number | undefined;
}

const LOGIN: Field = {
  name: 'login',
  label: message('oauth.login.login'),
  missing: message('enter.login'),
  autocomplete: 'username',
};
/** The only field of its step. */
const CODE: Field = { ...TOTP, isFocused: true };

/** What `callLogin` needs. */
export const loginForm = (view: LoginView, action: string): Html => {
  const { locale, login: value, notice } = view;
  const fields: Field[] = [{ ...LOGIN, value }, PASSWORD];
  return html`${notice !== undefined && html`<p class="notice" role="status">${translator(locale)(notice)}</p>`}
${problemOf(view, fields)}
${formOf(view, action, inputsOf(view, fields), [['login', message('oauth.login.submit')]])}`;
};

/** What is wrong with a log-in is said at the password, which is typed anew: the login is still there. */
const atPassword = (problem: Problem): Problem => {
  const { login, ...fields } = problem.fields;
  return login === undefined ? problem : { ...problem, fields: { ...fields, password: login } };
};

/** `kept`: the sealed login and password, which the visitor does not type again. */
const codePage = (view: View & { kept: string }, path: string): Page => {
  const { locale, kept, problem } = view;
  const t = translator(locale);
  const action = `${path}?lang=${locale}`;
  return renderPage({
    locale,
    status: problem?.status,
    title: t(message('login.code.title')),
    body: html`<section class="card">
${problemOf(view, [CODE])}
${formOf(view, action, html`<input type="hidden" name="kept" value="${kept}">\n${inputsOf(view, [CODE])}`, [['code', message('oauth.login.submit')]])}
<p><a href="${action}">${t(message('login.code.back'))}</a></p>
</section>`,
  });
};

interface LogInOptions<Asked, Opened> {
  page(asking: Asked, view: LoginView): Page;
  /** After the right password, and the code where the account needs one. */
  enter(asking: Asked, visit: SignedIn, password: string): Promise<Outcome>;
  /** What an answer needs. Throws 401 for a session that has ended, and 403 for one that may not be here. */
  open(asking: Asked, visit: SignedIn): Promise<Opened>;
  sessionOver: Message;
}

export const createLogIn = <Asked extends Asking & { visits: Visits }, Opened>(
  options: LogInOptions<Asked, Opened>,
) => {
  /** Renews the cookie, so that a form that is shown is not about to expire. */
  const show = (
    asking: Asked,
    visit: Guest | undefined,
    view: Omit<LoginView, 'locale' | 'csrf'> = {},
  ): Outcome => {
    const { locale, visits } = asking;
    const guest = visit ?? newGuest(asking);
    return { page: options.page(asking, { ...view, locale, csrf: visits.csrfOf(guest) }), visit: guest };
  };

  const showCode = (
    { locale, visits }: Asked,
    visit: Guest,
    view: Pick<View, 'problem'> & { kept: string },
  ): Outcome => ({ page: codePage({ ...view, locale, csrf: visits.csrfOf(visit) }, visits.path), visit });

  /** The API takes login, password and code together: each step sends what is there. `kept`: of the step before, whose time goes on. */
  const logIn = async (
    asking: Asked,
    visit: Guest,
    { kept, ...typed }: { login: string; password: string; totp?: string; kept?: string },
  ): Promise<Outcome> => {
    const { login, password, totp } = typed;
    const answer = await callLogin(asking, visit, typed);
    if (answer.status === 200)
      return options.enter(asking, { kind: 'user', token: String(answer.body.token) }, password);
    const problem = atPassword(problemIn(answer));
    const isCodeStep =
      problem.fields.totp !== undefined || (kept !== undefined && problem.text !== undefined);
    const shown = isCodeStep
      ? showCode(asking, visit, {
          kept: kept ?? asking.visits.seal(visit, { login, password }),
          // That a code is needed is no mistake of somebody who was not asked for one.
          problem: totp === undefined ? undefined : problem,
        })
      : show(asking, visit, { login, problem });
    return { ...shown, retryAfter: retryAfterIn(answer) };
  };

  const enterCode = (
    asking: Asked,
    visit: Guest,
    { kept, totp = '' }: Fields,
  ): Outcome | Promise<Outcome> => {
    const { login, password } = asking.visits.unseal(visit, kept) ?? {};
    if (login === undefined || password === undefined)
      return show(asking, visit, { notice: message('login.code.expired'), status: 403 });
    const problem = missingIn(asking.locale, [CODE], { totp });
    if (problem !== undefined) return showCode(asking, visit, { kept: kept ?? '', problem });
    return logIn(asking, visit, { login, password, totp, kept: kept ?? '' });
  };

  /** A token that is not valid any more leads to the log-in. */
  const unlessOver = async (asking: Asked, answer: () => Promise<Outcome>): Promise<Outcome> => {
    try {
      return await answer();
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
      return show(asking, undefined, { notice: options.sessionOver, status: 401 });
    }
  };

  return {
    show,

    /** A form of somebody who is not signed in. */
    submit: (asking: Asked, visit: Guest, fields: Fields): Outcome | Promise<Outcome> => {
      const { action, login = '', password = '' } = fields;
      if (action === 'code') return enterCode(asking, visit, fields);
      if (action !== 'login') return show(asking, visit);
      const problem = missingIn(asking.locale, [LOGIN, PASSWORD], fields);
      if (problem !== undefined) return show(asking, visit, { login, problem });
      return logIn(asking, visit, { login, password });
    },

    unlessOver,
    whileSignedIn: (
      asking: Asked,
      visit: SignedIn,
      answer: (opened: Opened) => Promise<Outcome>,
    ): Promise<Outcome> => unlessOver(asking, async () => answer(await options.open(asking, visit))),
  };
};
