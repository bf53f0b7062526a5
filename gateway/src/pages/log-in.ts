/** How a visitor of a page with forms signs in. */
import { isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import { type Asking, callLogin, problemIn, retryAfterIn } from './api.ts';
import { type Fields, newGuest, type Outcome } from './form-pages.ts';
import { type Field, formOf, inputsOf, PASSWORD, problemOf, type View } from './views.ts';
import type { Guest, SignedIn, Visits } from './visit.ts';

export interface LoginView extends View {
  login?: string | undefined;
  /** After a right password, which is typed again: it is not kept. */
  asksForCode?: boolean;
  /** Above the form. */
  notice?: Message | undefined;
  status?: number | undefined;
}

const TOTP: Field = { name: 'totp', label: message('oauth.login.code'), autocomplete: 'one-time-code' };

/** What `callLogin` needs. */
export const loginForm = (view: LoginView, action: string): Html => {
  const { locale, login: value, asksForCode = false, notice } = view;
  const fields: Field[] = [
    { name: 'login', label: message('oauth.login.login'), autocomplete: 'username', value },
    PASSWORD,
    ...(asksForCode ? [TOTP] : []),
  ];
  return html`${notice !== undefined && html`<p class="notice" role="status">${translator(locale)(notice)}</p>`}
${problemOf(view, fields)}
${formOf(view, action, inputsOf(view, fields), [['login', message('oauth.login.submit')]])}`;
};

interface LogInOptions<Asked, Opened> {
  page(asking: Asked, view: LoginView): Page;
  /** After the right password, and the code where the account needs one. */
  enter(asking: Asked, visit: SignedIn): Promise<Outcome>;
  /** What an answer needs. Throws 401 for a session that is over, and 403 for one that may not be here. */
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

  const logIn = async (asking: Asked, visit: Guest, fields: Fields): Promise<Outcome> => {
    const { login, totp = '' } = fields;
    const answer = await callLogin(asking, visit, fields);
    if (answer.status === 200)
      return options.enter(asking, { kind: 'user', token: String(answer.body.token) });
    const problem = problemIn(answer);
    const asksForCode = problem.fields.totp !== undefined || totp !== '';
    return { ...show(asking, visit, { login, asksForCode, problem }), retryAfter: retryAfterIn(answer) };
  };

  return {
    show,

    /** A form of somebody who is not signed in. */
    submit: (asking: Asked, visit: Guest, fields: Fields): Outcome | Promise<Outcome> =>
      fields.action === 'login' ? logIn(asking, visit, fields) : show(asking, visit),

    /** A token that is not valid any more leads to the log-in. */
    whileSignedIn: async (
      asking: Asked,
      visit: SignedIn,
      answer: (opened: Opened) => Promise<Outcome>,
    ): Promise<Outcome> => {
      try {
        return await answer(await options.open(asking, visit));
      } catch (error) {
        if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
        return show(asking, undefined, { notice: options.sessionOver, status: 401 });
      }
    },
  };
};
