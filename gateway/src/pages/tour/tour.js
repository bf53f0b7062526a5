// Makes the requests of a step when its button is pressed, one after the other, and shows the answers.
const tour = document.getElementById('tour');
const steps = [...tour.querySelectorAll('[data-step]')];
const done = new Set();
const values = new Map();

const fill = (text) => text.replaceAll(/\{(\w+)\}/g, (whole, name) => values.get(name) ?? whole);
/** A number that was kept stays one. */
const fillJson = (text) =>
  fill(text.replaceAll(/"\{(\w+)\}"/g, (whole, name) => JSON.stringify(values.get(name)) ?? whole));
const at = (answer, path) => path.split('.').reduce((value, name) => value?.[name], answer);
const lastSegment = (value) => (typeof value === 'string' ? value.split('/').at(-1) : value);
const newPhone = () => `0912${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;

const send = ({ method, url, body, isSignedIn }) =>
  fetch(fill(url), {
    method,
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(isSignedIn ? { authorization: fill('Bearer {token}') } : {}),
      'accept-language': document.documentElement.lang,
    },
    body: body && fillJson(JSON.stringify(body)),
  });

const templates = new Map();
for (const text of tour.querySelectorAll('[data-request] pre:first-child'))
  templates.set(text, text.textContent);

const clear = (item) => {
  const [request, badge, proof, answer] = item.querySelectorAll('pre:first-child, .badge, .proof, .answer');
  request.textContent = templates.get(request);
  badge.className = 'badge';
  proof.hidden = answer.hidden = true;
  return { request, badge, proof, answer };
};

const JSON_TEXT = /("(?:[^"\\]|\\.)*")/;
/** Each text in an element of its own: a Persian one would otherwise reorder the line. */
const showJson = (element, json) => {
  const parts = JSON.stringify(json, null, 2).split(JSON_TEXT);
  const isolated = (text) => Object.assign(document.createElement('bdi'), { textContent: text });
  element.replaceChildren(...parts.map((part, i) => (i % 2 === 1 ? isolated(part) : part)));
};

/** Whether the answer has the value that the step proves. */
const showProof = (element, { place, value }, json) => {
  const found = at(json, place);
  element.textContent = `${place}: ${JSON.stringify(found)}`;
  element.hidden = false;
  return found === value;
};

/** Whether the answer has the status and the value that the page promises. Rejects without an answer. */
const exchange = async (item) => {
  const wanted = JSON.parse(item.dataset.request);
  const { request, badge, proof, answer } = clear(item);
  request.textContent = fill(templates.get(request));
  let response = await send(wanted);
  while (wanted.isAwaited && !wanted.status.includes(response.status)) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    response = await send(wanted);
  }
  const text = await response.text();
  const isFine = wanted.status.includes(response.status);
  badge.textContent = response.status;
  badge.classList.add(isFine ? 'good' : 'bad');
  answer.hidden = text === '';
  if (!response.headers.get('content-type')?.includes('json')) {
    answer.textContent = text;
    return isFine;
  }
  const json = JSON.parse(text);
  showJson(answer, json);
  for (const [name, path] of Object.entries(wanted.keep ?? {})) values.set(name, lastSegment(at(json, path)));
  const isProved = wanted.proof === undefined || showProof(proof, wanted.proof, json);
  return isFine && isProved;
};

/** What follows a step uses what the step has made. */
const forget = (name) => {
  done.delete(name);
  steps.find(({ dataset }) => dataset.step === name).querySelector('[role=status]').textContent = '';
  for (const { dataset } of steps) if (dataset.after === name) forget(dataset.step);
};

const showButtons = () => {
  for (const { dataset } of steps) {
    const isReady = dataset.after === undefined || done.has(dataset.after);
    document.getElementById(`tour-${dataset.step}`).disabled = !isReady;
    const reason = document.getElementById(`tour-${dataset.step}-after`);
    if (reason) reason.hidden = isReady;
  }
};

const outcomeOf = async (step) => {
  const items = [...step.querySelectorAll('[data-request]')];
  for (const item of items) clear(item);
  try {
    for (const item of items) if (!(await exchange(item))) return 'failed';
    return 'done';
  } catch {
    return 'lost';
  }
};

const run = async (step, button) => {
  const status = step.querySelector('[role=status]');
  status.textContent = '';
  step.querySelector('details').open = true;
  // The steps of one member follow each other.
  const isNewMember = ({ dataset }) => dataset.newMember !== undefined;
  for (const { dataset } of isNewMember(step) ? steps.filter(isNewMember) : [step]) forget(dataset.step);
  showButtons();
  button.disabled = true;
  if (isNewMember(step)) values.set('phone', newPhone());
  const outcome = await outcomeOf(step);
  if (outcome === 'done') done.add(step.dataset.step);
  showButtons();
  button.focus();
  status.textContent = tour.dataset[outcome];
};

for (const step of steps) {
  const button = document.getElementById(`tour-${step.dataset.step}`);
  button.hidden = false;
  button.addEventListener('click', () => void run(step, button));
}
showButtons();
