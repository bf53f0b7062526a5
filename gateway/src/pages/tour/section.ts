/** The tour on the start page of a demonstration. Each step shows its requests and has a button that sends them. */
import { readFileSync } from 'node:fs';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import type { FastifyInstance } from 'fastify';
import { TOUR_STEPS, type TourRequest, type TourStep } from './steps.ts';

export const TOUR_SCRIPT = '/assets/tour.js';

export const addTourScript = (app: FastifyInstance): void => {
  const script = readFileSync(new URL('./tour.js', import.meta.url));
  app.get(TOUR_SCRIPT, { schema: { hide: true } }, async (_request, reply) =>
    reply
      .headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
      .type('text/javascript; charset=utf-8')
      .send(script),
  );
};

/** The request in HTTP notation. The script replaces each `{name}` with its value. */
const textOf = ({ method, body, isSignedIn }: TourRequest, url: string): string =>
  [
    `${method} ${url}`,
    ...(isSignedIn === true ? ['Authorization: Bearer {token}'] : []),
    ...(body === undefined ? [] : ['', JSON.stringify(body, null, 2)]),
  ].join('\n');

const exchange = (request: TourRequest, sandboxUrl: string): Html => {
  const url = request.at === 'sandbox' ? `${sandboxUrl}${request.path}` : request.path;
  return html`<li class="stack" data-request="${JSON.stringify({ ...request, url })}">
<pre dir="ltr" tabindex="0">${textOf(request, url)}</pre>
<p class="row"><span class="badge" dir="ltr">${request.status[0]}</span><code class="proof" dir="ltr" hidden></code></p>
<pre dir="ltr" tabindex="0" class="answer" hidden></pre></li>`;
};

/** Why a step cannot run yet. The script shows the text beside the button. */
const reasonOf = (locale: Locale, { name, after }: TourStep): Html => {
  const step = TOUR_STEPS.findIndex((each) => each.name === after) + 1;
  return html`<span class="quiet" id="tour-${name}-after" hidden>${translator(locale)(message('start.tour.after', { step }))}</span>`;
};

const stepItem = (locale: Locale, step: TourStep, sandboxUrl: string): Html => {
  const t = translator(locale);
  const count = step.requests.length;
  return html`<li data-step="${step.name}"${step.after !== undefined && html` data-after="${step.after}"`}${step.isNewMember === true && html` data-new-member`}>
<h3>${t(step.title)}</h3>
<p>${t(step.lead)}</p>
<div class="row actions"><button type="button" id="tour-${step.name}" hidden aria-label="${t(message('start.tour.run'))}: ${t(step.title)}">${t(message('start.tour.run'))}</button>
${step.after !== undefined && reasonOf(locale, step)}<span role="status"></span></div>
<details><summary>${t(message('start.tour.requests', { count }))}</summary>
<ol class="items" role="list">${step.requests.map((request) => exchange(request, sandboxUrl))}</ol></details></li>`;
};

export const tourSection = (locale: Locale, sandboxUrl: string): Html => {
  const t = translator(locale);
  return html`<section class="card" id="tour" data-done="${t(message('start.tour.done'))}" data-failed="${t(message('start.tour.failed'))}" data-lost="${t(message('start.tour.lost'))}">
<h2>${t(message('start.tour'))}</h2>
<p class="quiet">${t(message('start.tour.lead'))}</p>
<ol class="items" role="list">${TOUR_STEPS.map((step) => stepItem(locale, step, sandboxUrl))}</ol>
</section>`;
};
