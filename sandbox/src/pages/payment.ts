/** The payment gateway's page, where the payer pays or cancels, and its parts that the list of payments shares. */
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { languageLinks } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import type { Payment, PaymentStatus } from '../state.ts';
import { formatRial, textsOf } from './texts.ts';

const BADGES: Readonly<Record<PaymentStatus, string>> = { [-1]: 'waiting', 1: 'good', 2: 'good', 3: 'bad' };

export const statusBadge = (locale: Locale, { status }: Payment): Html =>
  html`<span class="badge ${BADGES[status]}">${textsOf(locale).payments.statuses[status]}</span>`;

/** `newTab` keeps the list open while the shop's response is shown. A list of payments has no main button. */
export const clickButtons = (locale: Locale, { trackId }: Payment, newTab = false): Html => {
  const { pay, cancel } = textsOf(locale).payments;
  const target = newTab && html` target="_blank"`;
  const button = (click: 'pay' | 'cancel', text: string): Html =>
    html`<button id="${click}-${trackId}" formaction="/_sandbox/zibal/${trackId}/${click}" aria-label="${text}: ${trackId}">${text}</button>\n`;
  return html`<form method="post"${target}><div class="row${!newTab && ' actions'}">${button('pay', pay)}${button('cancel', cancel)}</div></form>`;
};

/** `callback` is the address to which the payer's click leads. */
export const renderPayment = (
  locale: Locale,
  payment: Payment | undefined,
  callback: string | undefined,
): Page => {
  const { payments } = textsOf(locale);
  // Relative, because the gateway's page has more than one address.
  const aside = languageLinks(locale, '');
  if (payment === undefined || callback === undefined) {
    const body = html`<section class="card"><p>${payments.unknown}</p></section>`;
    return renderPage({ locale, status: 404, title: payments.one, aside, body });
  }
  return renderPage({
    locale,
    title: payments.one,
    aside,
    formTargets: [new URL(callback).origin],
    body: html`<section class="card">
<p class="notice waiting">${payments.simulated}</p>
<dl class="facts">
<dt>${payments.amount}</dt><dd><strong>${formatRial(locale, payment.amountRial)}</strong></dd>
<dt>${payments.track}</dt><dd class="code">${payment.trackId}</dd>
${payment.orderId !== null && html`<dt>${payments.order}</dt><dd class="code">${payment.orderId}</dd>`}
</dl>
${payment.description !== null && html`<p dir="auto">${payment.description}</p>`}
${
  payment.status === -1
    ? clickButtons(locale, payment)
    : html`<p>${payments.over} ${statusBadge(locale, payment)}</p><p><a href="${callback}">${payments.back}</a></p>`
}
</section>`,
  });
};
