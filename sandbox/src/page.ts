/** HTML pages: received messages, payments and purchases, and the payment page. No scripts, no external resources. */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { FastifyReply } from 'fastify';
import type { Payment, PaymentStatus, SandboxState } from './state.ts';

const SHOWN = 50;

class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

type Value = Html | string | number | null | undefined | Value[];

function render(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(render).join('');
  return String(value ?? '').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Everything put into the template is escaped unless it was made by this function itself. */
function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(strings.reduce((done, text, index) => done + render(values[index - 1]) + text));
}

const STYLE = new Html(`<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; padding: .35rem .6rem; border-bottom: 1px solid #8885; overflow-wrap: anywhere; }
form { display: inline; } button { font: inherit; padding: .2rem .8rem; margin-inline-end: .4rem; }
code { font-size: 1.1em; } .quiet { opacity: .7; }
</style>`);

function page(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${STYLE}</head><body><h1>${title}</h1>
${body}
</body></html>
`;
}

export function sendPage(reply: FastifyReply, content: Html, status = 200): FastifyReply {
  return reply
    .code(status)
    .header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
    .type('text/html; charset=utf-8')
    .send(content.text);
}

const STATUS_WORDS: Record<PaymentStatus, string> = {
  [-1]: 'waiting',
  1: 'paid and verified',
  2: 'paid, not yet verified',
  3: 'cancelled',
};

const rial = (amount: number) => `${amount.toLocaleString('en-US')} Rial`;

const clickButtons = (payment: Payment) => html`
<form method="post" action="/_sandbox/zibal/${payment.trackId}/pay"><button>Pay</button></form>
<form method="post" action="/_sandbox/zibal/${payment.trackId}/cancel"><button>Cancel</button></form>`;

/** The page at `/zibal/start/{trackId}`; `callback` is where a payment that is over has led. */
export function renderPaymentPage(payment: Payment | undefined, callback: string | null): Html {
  if (!payment) return page('Payment', html`<p>There is no payment with this number.</p>`);
  return page(
    'Payment',
    html`<p>Amount: <strong>${rial(payment.amountRial)}</strong></p>
<p>${payment.description ?? ''}</p>
<p class="quiet">Track id ${payment.trackId}${payment.orderId === null ? '' : html`, order ${payment.orderId}`}</p>
${
  payment.status === -1
    ? clickButtons(payment)
    : html`<p>This payment is ${STATUS_WORDS[payment.status]}. <a href="${callback}">Back to the shop</a></p>`
}
<p class="quiet">No money moves here: this is the sandbox.</p>`,
  );
}

function section(title: string, total: number, head: string[], rows: Html[]): Html {
  if (total === 0) return html`<h2>${title}</h2><p class="quiet">None yet.</p>`;
  const more = total > rows.length ? `newest ${rows.length} of ${total}` : '';
  return html`<h2>${title}</h2><p class="quiet">${more}</p>
<table><thead><tr>${head.map((each) => html`<th>${each}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;
}

function newest<T>(map: Map<unknown, T>): T[] {
  return [...map.values()].reverse().slice(0, SHOWN);
}

export function renderHome(state: SandboxState): Html {
  const sms = newest(state.sms).map(
    (each) => html`<tr><td>${formatTimestamp(each.sentAt)}</td><td>${each.receptor}</td>
<td dir="auto">${each.message}</td><td><code>${each.code}</code></td></tr>`,
  );
  const payments = newest(state.payments).map(
    (each) => html`<tr><td>${formatTimestamp(each.createdAt)}</td>
<td><a href="/zibal/start/${each.trackId}">${each.trackId}</a></td><td>${rial(each.amountRial)}</td>
<td>${each.orderId}</td><td>${STATUS_WORDS[each.status]}</td>
<td>${each.status === -1 ? clickButtons(each) : ''}</td></tr>`,
  );
  const purchases = newest(state.purchases).map(
    (each) => html`<tr><td><code>${each.token}</code></td><td>${each.productId}</td><td>${each.state}</td>
<td>${each.consumed ? 'yes' : 'no'}</td><td>${each.acknowledged ? 'yes' : 'no'}</td>
<td>${state.storeCalls(each.token)}</td></tr>`,
  );
  return page(
    'Sandbox: emulated providers',
    html`<p>SMS, payments and store purchases as the emulated providers see them. Times are UTC;
<a href="/">reload</a> to see what is new.</p>
${section('SMS inbox', state.sms.size, ['Sent', 'To', 'Message', 'Code'], sms)}
${section('Payments', state.payments.size, ['Opened', 'Track id', 'Amount', 'Order', 'State', ''], payments)}
${section('Store purchases', state.purchases.size, ['Token', 'Product', 'State', 'Consumed', 'Acknowledged', 'Validations'], purchases)}`,
  );
}
