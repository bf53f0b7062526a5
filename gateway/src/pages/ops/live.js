// Copies codes, sends a form once, and shows that something has changed since the page was opened. A page without forms shows the new
// content by itself.
const content = document.getElementById('content');
const status = document.getElementById('live-status');
// Undefined on a page that shows no changes.
const source = content?.dataset.source;
const RETRY_MS = 2000;

const show = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

// The session has ended: the log-in page is shown instead of what nobody may see any more.
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

// After an answer that is no stream the browser does not try again by itself, and does not say which answer it was.
const tryAgain = async () => {
  const asking = new AbortController();
  const answer = await fetch(source, { signal: asking.signal }).catch(() => undefined);
  asking.abort();
  if (answer?.status === 401 || answer?.status === 403) leave();
  else setTimeout(listen, RETRY_MS);
};

// Without a script, and without a safe origin, the code is selected by a click and copied by hand.
if (navigator.clipboard !== undefined)
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  if (button === null) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = button.dataset.copied;
});

// The answer to the first click may be shown once, as recovery codes are: a second click would replace it by another answer.
const SENT_MS = 5000;
document.addEventListener('submit', (event) => {
  const { dataset } = event.target;
  if (dataset.sent === undefined) {
    dataset.sent = '';
    setTimeout(() => delete dataset.sent, SENT_MS);
  } else event.preventDefault();
});

// The step of a decision does not change by itself.
if (source !== undefined) listen();
