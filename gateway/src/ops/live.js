// Tells what has changed since the page was opened. A page without forms shows it by itself.
const content = document.getElementById('content');
const status = document.getElementById('live-status');

const show = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

let isChanged = false;
const changes = new EventSource(content.dataset.source);
changes.addEventListener('open', () => show(isChanged ? status.dataset.changed : status.dataset.live));
changes.addEventListener('content', ({ data }) => {
  content.innerHTML = JSON.parse(data);
});
changes.addEventListener('changed', () => {
  isChanged = true;
  show(status.dataset.changed);
});
changes.addEventListener('error', () => show(status.dataset.lost));
// The session is over: the log-in page is shown instead of what nobody may see any more.
changes.addEventListener('ended', () => location.assign(location.pathname + location.search));
