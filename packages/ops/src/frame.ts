/** The layout of `/ops`, and its pages for visitors who are not signed in. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { alertOf } from '@fitness/shared/pages/form.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type LoginView, loginForm } from '@fitness/shared/pages/log-in.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { problemOf, SIGN_OUT } from '@fitness/shared/pages/views.ts';
import { type Content, form, htmlOf, link, view } from './content.ts';
import { OPS_PATH, type Operator, pathOf, queryOf, type WaitingInSection } from './operator.ts';
import { type Section, watcherOf } from './section.ts';
import { waitingBadge } from './waiting.ts';

/** Path segment of the page for the operator's second factor, which is not a section. */
export const SECOND_FACTOR = 'second-factor';
export const LIVE_SCRIPT = `${OPS_PATH}/live.js`;
export const LIVE_PATH = `${OPS_PATH}/live`;

/** A page for a visitor who may not see a section. */
const visitorPage = (locale: Locale, status: number | undefined, body: Html): Page =>
  renderPage({
    locale,
    status,
    title: translator(locale)(message('ops.title')),
    aside: languageLinks(locale, OPS_PATH),
    body: html`<section class="card">\n${body}\n</section>`,
  });

export const loginPage = (view: LoginView): Page => {
  const { locale, problem, status = problem?.status } = view;
  const lead = translator(locale)(message('ops.login.lead'));
  return visitorPage(locale, status, html`<p>${lead}</p>\n${loginForm(view, pathOf(view, ''))}`);
};

interface Shown {
  section: Section;
  /** The sections that the operator may use. */
  sections: readonly Section[];
  content: Content;
  username: string;
  waiting: readonly WaitingInSection[];
  notice: Message | undefined;
  /** Whether the content is a step of an action, which shows its problems itself and is not updated live. */
  isStep: boolean;
}

/** Links to the sections. The first one is the start page of this operator. */
const navigation = (operator: Operator, { sections, section: current, waiting }: Shown): Content => {
  const links = sections
    .filter(({ within }) => within === undefined)
    .map((section) => {
      const badge = waiting.find(({ slug }) => slug === section.slug);
      return view`<li><a href="${pathOf(operator, section.slug)}"${section === current && view` aria-current="page"`}${section.slug === current.within && view` aria-current="true"`}>${message(section.title)}${badge && waitingBadge(operator, badge)}</a></li>\n`;
    });
  return view`<nav aria-label="${message('ops.title')}"><ul class="tabs" role="list">${links}</ul></nav>`;
};

/** The signed-in operator, with a link to their second factor and a button to sign out. */
const account = (username: string): Content =>
  form({
    slug: '',
    content: view`<span class="quiet">${message('ops.signed_in', { username: isolate(username) })}</span>
${link(message('ops.second_factor'), SECOND_FACTOR)}`,
    buttons: [SIGN_OUT],
  });

/** The texts for each state of the live connection. The script contains no text itself. */
const LIVE_STATUS = view`<p class="quiet" role="status" id="live-status" data-live="${message('ops.live')}" data-lost="${message('ops.live.lost')}" data-changed="${message('ops.live.changed')}">${message('ops.live.off')}</p>`;

export const sectionPage = (operator: Operator, shown: Shown): Page => {
  const { section, content, username, notice, isStep } = shown;
  const { locale, t, query, problem, slug } = operator;
  const isWatched = watcherOf(section) !== undefined && problem === undefined && !isStep;
  const own = { lang: locale, section: section.slug };
  const source = `${LIVE_PATH}?${queryOf({ ...own, ...query, ...own, done: undefined })}`;
  return renderPage({
    locale,
    status: problem?.status,
    width: 'wide',
    script: LIVE_SCRIPT,
    title: `${t(message(section.title))} · ${t(message('ops.title'))}`,
    aside: htmlOf(operator, [
      languageLinks(locale, slug === '' ? OPS_PATH : `${OPS_PATH}/${slug}`),
      account(username),
    ]),
    body: htmlOf(
      operator,
      view`${navigation(operator, shown)}
${notice !== undefined && view`<p class="notice good" role="status">${notice}</p>`}
${section.showsProblems !== true && !isStep && problemOf(operator, [])}
${isWatched && LIVE_STATUS}
<div class="stack" id="content"${isWatched && view` data-source="${source}"`}>${content}</div>`,
    ),
  });
};

/** The page for a request that cannot be completed. */
export const refusalPage = (locale: Locale, status: number, reason: Message): Page => {
  const t = translator(locale);
  const again = html`<a href="${pathOf({ locale }, '')}">${t(message('account_deletion.reopen'))}</a>`;
  return visitorPage(locale, status, html`${alertOf(t(reason))}\n<p>${again}</p>`);
};
