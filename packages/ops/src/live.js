// Copies codes, prevents double submits, and reports changes since the page was opened. On a page without forms, the new content appears
// automatically.
const content = document.getElementById('content');
const status = document.getElementById('live-status');
// Undefined on a page without live changes.
const source = content?.dataset.source;
const RETRY_MS = 2000;

const show = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

// The session has ended. Reloading replaces the content with the sign-in page.
const leave = () => location.assign(location.pathname + location.search);

let isChanged = false;
const listen = () => {
  const changes = new EventSource(source);
  changes.addEventListener('open', () => show(isChanged ? status.dataset.changed : status.dataset.live));
  changes.addEventListener('content', ({ data }) => {
    content.innerHTML = JSON.parse(data);
  });
  changes.addEventListener('changed', () => {
    isChanged = true;
    show(status.dataset.changed);
  });
  changes.addEventListener('error', () => {
    show(status.dataset.lost);
    if (changes.readyState === EventSource.CLOSED) tryAgain();
  });
  changes.addEventListener('ended', leave);
};

// The browser does not reconnect after a response that is not a stream, and does not reveal its status.
const tryAgain = async () => {
  const controller = new AbortController();
  const answer = await fetch(source, { signal: controller.signal }).catch(() => undefined);
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

// The step of a decision is not updated live.
if (source !== undefined) listen();
