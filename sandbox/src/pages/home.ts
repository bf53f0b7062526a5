/** The page at the root: what the providers have received, and their modes. Without scripts, reloading updates it. */
import { formatNumber, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { alertOf, inputsOf } from '@fitness/shared/pages/form.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import type { SandboxClock } from '../clock.ts';
import {
  type Email,
  type Payment,
  PRODUCTS,
  PURCHASE_STATES,
  type Purchase,
  type PurchaseState,
  type Push,
  type SandboxState,
  SMS_MODES,
  type Sms,
  ZIBAL_MODES,
} from '../state.ts';
import type { Harness, ProviderAddress } from '../wire.ts';
import { clickButtons, statusBadge } from './payment.ts';
import { fill, formatRial, PAGE_LOCALES, textsOf } from './texts.ts';

export const LIVE_SCRIPT = '/_sandbox/page/live.js';
/** A list shows this many items, and up to `MAX_SHOWN` after a click. */
const SHOWN = 3;
const MAX_SHOWN = 50;

/** The refused number and the chosen mode of the form of the SMS provider; `other`: any other invalid form. */
export type HomeProblem = { receptor: string; mode: string } | 'other';

interface HomeOptions {
  locale: Locale;
  harness: Pick<Harness, 'state' | 'clock' | 'isFollowed'>;
  addresses: readonly ProviderAddress[];
  /** Problem with the submitted form. */
  problem?: HomeProblem | undefined;
}

const number = (text: string): Html => html`<bdi dir="ltr">${text}</bdi>`;

const fact = (term: string, value: Html | string): Html => html`<dt>${term}</dt><dd>${value}</dd>`;

/** The script uses the id to keep it open. */
const details = (id: string, summary: Html | string, content: Html, isOpen = false): Html =>
  html`<details id="${id}"${isOpen && html` open`}><summary>${summary}</summary>
<div class="stack">${content}</div></details>`;

/** The script replaces the content of an element with `data-live` when it has changed. */
const liveList = <T>(
  id: string,
  { locale, entries, show }: { locale: Locale; entries: Map<unknown, T>; show: (entry: T) => Html },
): Html => {
  const { none, more, newest } = textsOf(locale);
  const latest = [...entries.values()].reverse().slice(0, MAX_SHOWN);
  const items = (some: T[]): Html => html`<ul class="items" role="list">${some.map(show)}</ul>`;
  const rest = latest.slice(SHOWN);
  const counts = { rest: rest.length, shown: latest.length, total: entries.size };
  const cut = entries.size > latest.length && html`<p class="quiet">${fill(locale, newest, counts)}</p>`;
  const list = html`${items(latest.slice(0, SHOWN))}
${rest.length > 0 && details(`${id}-more`, fill(locale, more, counts), html`${items(rest)}${cut}`)}`;
  return html`<div id="${id}" data-live>${latest.length === 0 ? html`<p class="quiet">${none}</p>` : list}</div>`;
};

const options = <K extends string>(
  values: readonly K[],
  current: K | undefined,
  words: Readonly<Record<K, string>>,
): Html[] =>
  values.map(
    (value) => html`<option value="${value}"${value === current && html` selected`}>${words[value]}</option>`,
  );

const postForm = (locale: Locale, action: string, content: Html): Html =>
  html`<form method="post" action="/_sandbox/page/${action}?lang=${locale}">${content}</form>`;

/** Recipient and time in one line. */
const meta = (to: string, receptor: string, time: Html): Html =>
  html`<p class="quiet">${to} ${number(receptor)} · ${time}</p>`;

const smsItem = (locale: Locale, sms: Sms): Html => {
  const texts = textsOf(locale).sms;
  return html`<li data-new="${fill(locale, texts.arrived, { receptor: sms.receptor })}">
<p dir="auto">${sms.message}</p>
${sms.code !== null && html`<p><span class="silent">${texts.code}</span> <bdi dir="ltr" class="code large">${sms.code}</bdi></p>`}
${meta(texts.to, sms.receptor, timeOf(locale, sms.sentAt))}</li>`;
};

const emailItem = (locale: Locale, email: Email): Html => {
  const { sms, emails } = textsOf(locale);
  const lines = email.text
    .trim()
    .split(/\n+/)
    .map((line) => html`<p dir="auto">${line}</p>`);
  return html`<li data-new="${fill(locale, emails.arrived, { address: email.to })}">
<p dir="auto"><strong>${email.subject}</strong></p>
${meta(sms.to, email.to, timeOf(locale, email.sentAt))}
${details(`email-${email.id}`, emails.text, html`${lines}<p class="quiet">${emails.from} ${number(email.from)}</p>`)}</li>`;
};

const pushItem = (locale: Locale, message: Push): Html => {
  const { sms, push } = textsOf(locale);
  return html`<li data-new="${fill(locale, push.arrived, { title: message.title })}">
<p dir="auto"><strong>${message.title}</strong></p><p dir="auto">${message.body}</p>
<dl class="facts">
${fact(push.device, html`<bdi dir="ltr" class="code">${message.token}</bdi>`)}${fact(sms.sent, timeOf(locale, message.sentAt))}
</dl></li>`;
};

const smsModes = (locale: Locale, state: SandboxState, problem: HomeProblem | undefined): Html => {
  const { sms, apply, problems } = textsOf(locale);
  const refused = typeof problem === 'object' ? problem : undefined;
  const receptor = {
    name: 'receptor',
    label: sms.receptor,
    autocomplete: 'off',
    inputmode: 'tel',
    maxLength: 30,
    value: refused?.receptor,
    refused: refused === undefined ? [] : [problems.receptor],
  } as const;
  const single = [...state.smsModes].map(
    ([receptor, mode]) => html`<li>${number(fill(locale, sms.only, { receptor }))}: ${sms.modes[mode]}</li>`,
  );
  const form = html`<div class="stack">
${inputsOf([receptor])}
<div class="row"><select name="mode" aria-label="${sms.mode}">
${options(SMS_MODES, SMS_MODES.find((mode) => mode === refused?.mode) ?? state.smsModes.general, sms.modes)}</select><button>${apply}</button></div>
</div>`;
  const summary = html`${sms.mode}: <span id="sms-mode" data-live>${sms.modes[state.smsModes.general]}</span>`;
  return html`${details('sms-mode-form', summary, postForm(locale, 'sms-mode', form), problem !== undefined)}
<ul class="quiet" id="sms-modes" data-live>${single}</ul>`;
};

const paymentItem = (locale: Locale, payment: Payment): Html => {
  const { payments, details: more } = textsOf(locale);
  return html`<li>
<div class="row"><strong>${formatRial(locale, payment.amountRial)}</strong> ${statusBadge(locale, payment)}</div>
<p>${payments.track} <a href="/zibal/start/${payment.trackId}"><bdi class="code">${payment.trackId}</bdi></a></p>
${payment.status === -1 && clickButtons(locale, payment, true)}
${details(
  `payment-${payment.trackId}`,
  more,
  html`<dl class="facts">
${payment.orderId !== null && fact(payments.order, html`<bdi class="code">${payment.orderId}</bdi>`)}
${fact(payments.opened, timeOf(locale, payment.createdAt))}
</dl>`,
)}</li>`;
};

const gatewayMode = (locale: Locale, state: SandboxState): Html => {
  const { payments, apply } = textsOf(locale);
  const form = html`<div class="row"><select name="mode" aria-label="${payments.mode}">
${options(ZIBAL_MODES, state.zibalModes.general, payments.modes)}</select><button>${apply}</button></div>`;
  const summary = html`${payments.mode}: <span id="zibal-mode" data-live>${payments.modes[state.zibalModes.general]}</span>`;
  return details('zibal-mode-form', summary, postForm(locale, 'zibal-mode', form));
};

const purchaseForms = (locale: Locale): Html => {
  const { purchases } = textsOf(locale);
  const button = (state: PurchaseState, text = purchases.states[state]): Html =>
    html`<button name="state" value="${state}">${text}</button>\n`;
  const [usual, ...others] = PURCHASE_STATES;
  return html`<p class="quiet">${purchases.createLead}</p>
${PRODUCTS.map((product) =>
  postForm(
    locale,
    'purchases',
    html`<fieldset><legend class="silent">${product}</legend>
<input type="hidden" name="product_id" value="${product}">
<div class="row">${button(usual, purchases.buy)}<bdi class="code">${product}</bdi>
${details(`new-${product}`, purchases.otherStates, html`<div class="row">${others.map((state) => button(state))}</div>`)}</div>
</fieldset>`,
  ),
)}`;
};

const purchaseItem = (locale: Locale, state: SandboxState, purchase: Purchase): Html => {
  const { purchases, apply, details: more } = textsOf(locale);
  const { token } = purchase;
  const yesNo = (value: boolean): string => (value ? purchases.yes : purchases.no);
  const change = html`<input type="hidden" name="token" value="${token}">
<input type="hidden" name="product_id" value="${purchase.productId}">
<div class="row"><select id="state-${purchase.id}" name="state" aria-label="${purchases.state}: ${token}">
${options(PURCHASE_STATES, purchase.state, purchases.states)}</select>
<button id="apply-${purchase.id}" aria-label="${apply}: ${token}">${apply}</button></div>`;
  return html`<li>
<div class="row"><bdi class="code">${token}</bdi>
<button id="copy-${purchase.id}" type="button" hidden data-copy="${token}" data-copied="${purchases.copied}" aria-label="${purchases.copy}: ${token}">${purchases.copy}</button></div>
<p class="row"><bdi class="code">${purchase.productId}</bdi> <span class="badge">${purchases.states[purchase.state]}</span></p>
${details(
  `change-${purchase.id}`,
  more,
  html`<dl class="facts">
${fact(purchases.consumed, yesNo(purchase.consumed))}
${fact(purchases.acknowledged, yesNo(purchase.acknowledged))}
${fact(purchases.validations, formatNumber(locale, state.storeCalls.get(token) ?? 0))}
</dl>
<h3>${purchases.change}</h3>
${postForm(locale, 'purchases', change)}`,
)}</li>`;
};

/** Durations by which the buttons advance the clock. */
export const ADVANCES = ['1h', '1d', '14d', '31d'] as const;

const clockCard = (locale: Locale, clock: SandboxClock): Html => {
  const texts = textsOf(locale).clock;
  const buttons = ADVANCES.map(
    (advance) => html`<button name="advance" value="${advance}">${texts.advances[advance]}</button>\n`,
  );
  return html`<section class="card" id="clock"><h2>${texts.title}</h2>
<p class="quiet">${texts.lead}</p>
<p id="clock-now" data-live>${timeOf(locale, clock.now())}</p>
${postForm(locale, 'clock', html`<div class="row">${buttons}</div>`)}
</section>`;
};

/** A confirmation that works without a script: the first click reveals the button. */
const forgetCard = (locale: Locale): Html => {
  const { title, lead, start, confirm } = textsOf(locale).forget;
  const form = postForm(
    locale,
    'forget',
    html`<div class="actions"><button class="danger">${confirm}</button></div>`,
  );
  return html`<section class="card" id="forget"><h2>${title}</h2>
<p class="notice bad">${lead}</p>
${details('forget-confirm', start, form)}
</section>`;
};

const links = (locale: Locale): Html =>
  html`<nav class="row"><a href="/app?lang=${locale}">${textsOf(locale).sample}</a>${PAGE_LOCALES.filter(
    (other) => other !== locale,
  ).map(
    (other) =>
      html`<a href="/?lang=${other}" lang="${other}" hreflang="${other}">${textsOf(other).language}</a>`,
  )}</nav>`;

export const renderHome = ({ locale, harness, addresses, problem }: HomeOptions): Page => {
  const { state, clock, isFollowed } = harness;
  const texts = textsOf(locale);
  return renderPage({
    locale,
    status: problem === undefined ? 200 : 422,
    title: texts.title,
    width: 'wide',
    script: LIVE_SCRIPT,
    // The payer's click may lead to any address, because the shop chooses it.
    formTargets: ['http:', 'https:'],
    aside: links(locale),
    body: html`<p>${texts.lead}
<span id="live" data-live-text="${texts.live}" data-lost-text="${texts.lost}">${texts.reload}</span></p>
<p class="silent" role="status" id="news"></p>
${problem === 'other' && alertOf(texts.problems.other)}
<div class="grid">
<section class="card" id="payments"><h2>${texts.payments.title}</h2>
${liveList('payment-list', { locale, entries: state.payments, show: (each) => paymentItem(locale, each) })}
${gatewayMode(locale, state)}
</section>
<section class="card" id="purchases"><h2>${texts.purchases.title}</h2>
${purchaseForms(locale)}
${liveList('purchase-list', {
  locale,
  entries: state.purchases,
  show: (each) => purchaseItem(locale, state, each),
})}
</section>
${isFollowed && clockCard(locale, clock)}
<section class="card" id="sms"><h2>${texts.sms.title}</h2>
${liveList('sms-list', { locale, entries: state.sms, show: (sms) => smsItem(locale, sms) })}
${smsModes(locale, state, problem)}
</section>
<section class="card" id="emails"><h2>${texts.emails.title}</h2>
${liveList('email-list', { locale, entries: state.emails, show: (email) => emailItem(locale, email) })}
</section>
<section class="card" id="push"><h2>${texts.push.title}</h2>
${liveList('push-list', { locale, entries: state.pushes, show: (message) => pushItem(locale, message) })}
</section>
</div>
<section class="card"><h2>${texts.addresses.title}</h2>
<p class="quiet">${texts.addresses.lead}</p>
${details(
  'addresses',
  texts.details,
  html`<dl class="facts">${addresses.map(({ title, url }) => fact(title, html`<bdi dir="ltr" class="code">${url}</bdi>`))}</dl>`,
)}
</section>
${forgetCard(locale)}`,
  });
};
