// Keeps the page up to date: after a change it fetches the page again and replaces its lists.
const status = document.getElementById('live');
const news = document.getElementById('news');
const reloadText = status.textContent;

const show = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

const unhideCopyButtons = () => {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
};

/** A list is not replaced while its select element has the focus. */
const isInUse = (list) => list.contains(document.activeElement) && document.activeElement.matches('select');

const replaceLists = (fresh) => {
  for (const list of document.querySelectorAll('[data-live]')) {
    const newList = fresh.getElementById(list.id);
    if (!newList || newList.innerHTML === list.dataset.shown || isInUse(list)) continue;
    const focused = list.contains(document.activeElement) ? document.activeElement.id : '';
    const opened = [...list.querySelectorAll('details[open]')].map(({ id }) => id);
    list.dataset.shown = newList.innerHTML;
    list.replaceChildren(...newList.cloneNode(true).childNodes);
    for (const id of opened) document.getElementById(id)?.setAttribute('open', '');
    if (focused) document.getElementById(focused)?.focus();
  }
};

const newestSms = () => document.querySelector('#sms-list li')?.outerHTML;

const refresh = async () => {
  const before = newestSms();
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    replaceLists(fresh);
  } catch {
    // The event source reports the lost connection.
    return;
  }
  unhideCopyButtons();
  if (newestSms() !== before) {
    news.textContent = document.querySelector('#sms-list li')?.dataset.new ?? '';
  }
};

for (const list of document.querySelectorAll('[data-live]')) list.dataset.shown = list.innerHTML;
unhideCopyButtons();

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = button.dataset.copied;
  news.textContent = button.dataset.copied;
});

// Only the page itself can be fetched again by its address, not the response to an invalid form.
if (location.pathname === '/') {
  const changes = new EventSource('/_sandbox/page/changes');
  changes.addEventListener('open', () => {
    show(status.dataset.liveText);
    void refresh();
  });
  changes.addEventListener('change', () => void refresh());
  changes.addEventListener('error', () => show(status.dataset.lostText ?? reloadText));
}
