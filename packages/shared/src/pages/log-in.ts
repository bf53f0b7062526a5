/** The sign-in of pages with forms: first the password, then the code of a second factor on a separate page. */
import { isAppError, type Message, message } from '../kernel/error.ts';
import { translator } from '../kernel/i18n/translate.ts';
import { type Fields, newGuest, type Outcome } from './form-pages.ts';
import { type Html, html } from './html.ts';
import { type Page, renderPage } from './page.ts';
import { type Field, formOf, inputsOf, missingIn, PASSWORD, problemOf, TOTP, type View } from './views.ts';
import type { Guest, SignedIn, Visits } from './visit.ts';
import { callLogin, type PageContext, type Problem, problemIn, retryAfterIn } from './visitor.ts';

export interface LoginView extends View {
  login?: string | undefined;
  /** Shown above the form. */
  notice?: Message | undefined;
  status?: number | undefined;
}

const LOGIN: Field = {
  name: 'login',
  label: message('oauth.login.login'),
  missing: message('enter.login'),
  autocomplete: 'username',
};
const CODE: Field = { ...TOTP, isFocused: true };

/** The form with the fields that `callLogin` sends. */
export const loginForm = (view: LoginView, action: string): Html => {
  const { locale, login: value, notice } = view;
  const fields: Field[] = [{ ...LOGIN, value }, PASSWORD];
  return html`${notice !== undefined && html`<p class="notice" role="status">${translator(locale)(notice)}</p>`}
${problemOf(view, fields)}
${formOf(view, action, inputsOf(view, fields), [['login', message('oauth.login.submit')]])}`;
};

/** Moves a problem from the login to the password, because the form keeps the login and only the password is entered again. */
const atPassword = (problem: Problem): Problem => {
  const { login, ...fields } = problem.fields;
  return login === undefined ? problem : { ...problem, fields: { ...fields, password: login } };
};

/** `sealed` is the encrypted login and password from the first step. */
const codePage = (view: View & { sealed: string }, path: string): Page => {
  const { locale, sealed, problem } = view;
  const t = translator(locale);
  const action = `${path}?lang=${locale}`;
  return renderPage({
    locale,
    status: problem?.status,
    title: t(message('login.code.title')),
    body: html`<section class="card">
${problemOf(view, [CODE])}
${formOf(view, action, html`<input type="hidden" name="kept" value="${sealed}">\n${inputsOf(view, [CODE])}`, [['code', message('oauth.login.submit')]])}
<p><a href="${action}">${t(message('login.code.back'))}</a></p>
</section>`,
  });
};

interface LogInOptions<Context, Opened> {
  page(context: Context, view: LoginView): Page;
  /** Runs after a successful sign-in. */
  enter(context: Context, visit: SignedIn, password: string): Promise<Outcome>;
  /** Loads the data for a response. Throws 401 for an ended session, and 403 for a session without access to the page. */
  open(context: Context, visit: SignedIn): Promise<Opened>;
  sessionEnded: Message;
}

export const createLogIn = <Context extends PageContext & { visits: Visits }, Opened>(
  options: LogInOptions<Context, Opened>,
) => {
  /** Shows the sign-in form, and renews the cookie so that the form does not expire soon. */
  const show = (
    context: Context,
    visit: Guest | undefined,
    view: Omit<LoginView, 'locale' | 'csrf'> = {},
  ): Outcome => {
    const { locale, visits } = context;
    const guest = visit ?? newGuest(context);
    return { page: options.page(context, { ...view, locale, csrf: visits.csrfOf(guest) }), visit: guest };
  };

  const showCode = (
    { locale, visits }: Context,
    visit: Guest,
    view: Pick<View, 'problem'> & { sealed: string },
  ): Outcome => ({ page: codePage({ ...view, locale, csrf: visits.csrfOf(visit) }, visits.path), visit });

  /**
   * Signs in with the fields entered so far, because the API takes login, password and code in one request. `sealed` comes from the previous
   * step, and its expiry stays the same.
   */
  const logIn = async (
    context: Context,
    visit: Guest,
    { sealed, ...typed }: { login: string; password: string; totp?: string; sealed?: string },
  ): Promise<Outcome> => {
    const { login, password, totp } = typed;
    const answer = await callLogin(context, visit, typed);
    if (answer.status === 200)
      return options.enter(context, { kind: 'user', token: String(answer.body.token) }, password);
    const problem = atPassword(problemIn(answer));
    const isCodeStep =
      problem.fields.totp !== undefined || (sealed !== undefined && problem.text !== undefined);
    const shown = isCodeStep
      ? showCode(context, visit, {
          sealed: sealed ?? context.visits.seal(visit, { login, password }),
          // A visitor who has not seen the code field yet has made no mistake.
          problem: totp === undefined ? undefined : problem,
        })
      : show(context, visit, { login, problem });
    return { ...shown, retryAfter: retryAfterIn(answer) };
  };

  const enterCode = (
    context: Context,
    visit: Guest,
    { kept: sealed, totp = '' }: Fields,
  ): Outcome | Promise<Outcome> => {
    const { login, password } = context.visits.unseal(visit, sealed) ?? {};
    if (login === undefined || password === undefined)
      return show(context, visit, { notice: message('login.code.expired'), status: 403 });
    const problem = missingIn(context.locale, [CODE], { totp });
    if (problem !== undefined) return showCode(context, visit, { sealed: sealed ?? '', problem });
    return logIn(context, visit, { login, password, totp, sealed: sealed ?? '' });
  };

  /** Shows the sign-in form if the token is no longer valid. */
  const withFallback = async (context: Context, answer: () => Promise<Outcome>): Promise<Outcome> => {
    try {
      return await answer();
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
      return show(context, undefined, { notice: options.sessionEnded, status: 401 });
    }
  };

  return {
    show,

    /** Handles a form from a visitor who is not signed in. */
    submit: (context: Context, visit: Guest, fields: Fields): Outcome | Promise<Outcome> => {
      const { action, login = '', password = '' } = fields;
      if (action === 'code') return enterCode(context, visit, fields);
      if (action !== 'login') return show(context, visit);
      const problem = missingIn(context.locale, [LOGIN, PASSWORD], fields);
      if (problem !== undefined) return show(context, visit, { login, problem });
      return logIn(context, visit, { login, password });
    },

    withFallback,
    whileSignedIn: (
      context: Context,
      visit: SignedIn,
      answer: (opened: Opened) => Promise<Outcome>,
    ): Promise<Outcome> => withFallback(context, async () => answer(await options.open(context, visit))),
  };
};
