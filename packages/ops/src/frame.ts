/** The layout of `/ops`, and its pages for visitors who are not signed in. */

import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { alertOf } from '@fitness/shared/pages/form.ts';
import { type Html, html, isolate } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type LoginView, loginForm } from '@fitness/shared/pages/log-in.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { formOf, problemOf, SIGN_OUT } from '@fitness/shared/pages/views.ts';
import { OPS_PATH } from './path.ts';
import {
  addressOf,
  type Operator,
  pathOf,
  SECOND_FACTOR,
  type Section,
  type WaitingBySection,
} from './section.ts';
import { waitingBadge } from './waiting.ts';

export const LIVE_SCRIPT = `${OPS_PATH}/live.js`;
export const LIVE_PATH = `${OPS_PATH}/live`;

export const loginPage = (view: LoginView): Page => {
  const { locale, problem, status = problem?.status } = view;
  const t = translator(locale);
  return renderPage({
    locale,
    status,
    title: t(message('ops.title')),
    aside: languageLinks(locale, OPS_PATH),
    body: html`<section class="card">
<p>${t(message('ops.login.lead'))}</p>
${loginForm(view, pathOf(view, ''))}
</section>`,
  });
};

/** Links to the sections. The first one is the start page of this operator. */
const navigation = (
  operator: Operator,
  { sections, section: current, waiting }: Pick<Shown, 'sections' | 'section' | 'waiting'>,
): Html => {
  const { t } = operator;
  const links = sections
    .filter(({ within }) => within === undefined)
    .map(
      (section) =>
        html`<li><a href="${pathOf(operator, section.slug)}"${section === current && html` aria-current="page"`}${section.slug === current.within && html` aria-current="true"`}>${t(message(section.title))}${waitingBadge(operator, waiting, section)}</a></li>\n`,
    );
  return html`<nav aria-label="${t(message('ops.title'))}"><ul class="tabs" role="list">${links}</ul></nav>`;
};

interface Shown {
  section: Section;
  /** The sections that the operator may use. */
  sections: readonly Section[];
  content: Html;
  username: string;
  waiting: WaitingBySection;
  notice: Message | undefined;
  /** Whether the content is a step of an action, which shows its problems itself and is not updated live. */
  isStep: boolean;
}

/** The signed-in operator, with a link to their second factor and a button to sign out. */
const account = (operator: Operator, username: string): Html => {
  const { t } = operator;
  const content = html`<span class="quiet">${t(message('ops.signed_in', { username: isolate(username) }))}</span>
<a href="${pathOf(operator, SECOND_FACTOR)}">${t(message('ops.second_factor'))}</a>`;
  return formOf(operator, pathOf(operator, ''), content, [SIGN_OUT]);
};

/** The texts for each state of the live connection. The script contains no text itself. */
const liveStatus = ({ t }: Operator): Html =>
  html`<p class="quiet" role="status" id="live-status" data-live="${t(message('ops.live'))}" data-lost="${t(message('ops.live.lost'))}" data-changed="${t(message('ops.live.changed'))}">${t(message('ops.live.off'))}</p>`;

export const sectionPage = (operator: Operator, shown: Shown): Page => {
  const { section, content, username, notice, isStep } = shown;
  const { locale, t, query, problem } = operator;
  const isWatched = section.watch !== undefined && problem === undefined && !isStep;
  const source = `${LIVE_PATH}?${new URLSearchParams({ lang: locale, section: section.slug, ...filtersOf(query) })}`;
  return renderPage({
    locale,
    status: problem?.status,
    width: 'wide',
    script: LIVE_SCRIPT,
    title: `${t(message(section.title))} · ${t(message('ops.title'))}`,
    aside: html`${languageLinks(locale, section.slug === '' ? OPS_PATH : `${OPS_PATH}/${addressOf(section, query)}`)}
${account(operator, username)}`,
    body: html`${navigation(operator, shown)}
${notice !== undefined && html`<p class="notice good" role="status">${t(notice)}</p>`}
${section.showsProblems !== true && !isStep && problemOf(operator, [])}
${isWatched && liveStatus(operator)}
<div class="stack" id="content"${isWatched && html` data-source="${source}"`}>${content}</div>`,
  });
};

/** The parameters of the address that select what the page shows. */
const filtersOf = (query: Operator['query']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || name === 'lang' || name === 'done' || name === 'section' ? [] : [[name, value]],
    ),
  );

/** The page for a request that cannot be completed. */
export const refusalPage = (locale: Locale, status: number, reason: Message): Page => {
  const t = translator(locale);
  return renderPage({
    locale,
    status,
    title: t(message('ops.title')),
    aside: languageLinks(locale, OPS_PATH),
    body: html`<section class="card">
${alertOf(t(reason))}
<p><a href="${pathOf({ locale }, '')}">${t(message('account_deletion.reopen'))}</a></p>
</section>`,
  });
};
