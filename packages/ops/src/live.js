// Copies codes, prevents double submits, and reports changes since the page was opened. On a page without forms, the new content appears
// automatically.
const content = document.getElementById('content');
const status = document.getElementById('live-status');
// Undefined on a page without live changes.
const source = content?.dataset.source;
const RETRY_MS = 2000;
let address = `${source}&poll=1`;

const show = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

// The session has ended. Reloading replaces the content with the sign-in page.
const leave = () => location.assign(location.pathname + location.search);

let isChanged = false;
// A response that has begun also ends without a fault.
let hasBegun = false;
let changes;
const listen = () => {
  changes?.close();
  changes = new EventSource(address);
  changes.addEventListener('open', () => {
    hasBegun = true;
    show(isChanged ? status.dataset.changed : status.dataset.live);
  });
  changes.addEventListener('content', ({ data }) => {
    content.innerHTML = JSON.parse(data);
  });
  changes.addEventListener('changed', () => {
    isChanged = true;
    show(status.dataset.changed);
  });
  changes.addEventListener('error', () => {
    if (!hasBegun) show(status.dataset.lost);
    hasBegun = false;
    if (changes.readyState === EventSource.CLOSED) tryAgain();
  });
  changes.addEventListener('ended', leave);
};

// The browser does not reconnect after a response that is not a stream, and does not reveal its status.
const tryAgain = async () => {
  const controller = new AbortController();
  const answer = await fetch(address, { signal: controller.signal }).catch(() => undefined);
  controller.abort();
  if (answer?.status === 401 || answer?.status === 403) leave();
  else setTimeout(listen, RETRY_MS);
};

// Without a script or a secure origin, a click selects the code, and the operator copies it manually.
if (navigator.clipboard !== undefined)
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  if (button === null) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = button.dataset.copied;
});

// A second click would replace the response to the first one, which may be shown only once, such as recovery codes.
const SENT_MS = 5000;
document.addEventListener('submit', (event) => {
  const { dataset } = event.target;
  if (dataset.sent === undefined) {
    dataset.sent = '';
    setTimeout(() => delete dataset.sent, SENT_MS);
  } else event.preventDefault();
});

// A browser has few connections to an origin, so one of its tabs has a stream and the others poll. When it closes, another tab gets the
// lock.
const LOCK = 'ops-live';
const stream = () => {
  address = source;
  listen();
  return new Promise(() => {});
};
// The step of a decision is not updated live.
if (source !== undefined && navigator.locks === undefined) stream();
else if (source !== undefined)
  navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
    if (lock !== null) return stream();
    listen();
    navigator.locks.request(LOCK, stream);
  });
