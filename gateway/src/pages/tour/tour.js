// Sends the requests of a step one after the other when its button is pressed, and shows the responses.
const tour = document.getElementById('tour');
const steps = [...tour.querySelectorAll('[data-step]')];
const done = new Set();
const values = new Map();

const fill = (text) => text.replaceAll(/\{(\w+)\}/g, (whole, name) => values.get(name) ?? whole);
/** Saved numbers stay numbers. */
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
/** Wraps each string in a separate element, because a Persian string would otherwise reorder the line. */
const showJson = (element, json) => {
  const parts = JSON.stringify(json, null, 2).split(JSON_TEXT);
  const isolated = (text) => Object.assign(document.createElement('bdi'), { textContent: text });
  element.replaceChildren(...parts.map((part, i) => (i % 2 === 1 ? isolated(part) : part)));
};

/** Whether the response contains the value that the step proves. */
const showProof = (element, { place, value }, json) => {
  const actual = at(json, place);
  element.textContent = `${place}: ${JSON.stringify(actual)}`;
  element.hidden = false;
  return actual === value;
};

/** Whether the response has the expected status and value. Rejects if there is no response. */
const exchange = async (item) => {
  const expected = JSON.parse(item.dataset.request);
  const { request, badge, proof, answer } = clear(item);
  request.textContent = fill(templates.get(request));
  let response = await send(expected);
  while (expected.isAwaited && !expected.status.includes(response.status)) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    response = await send(expected);
  }
  const text = await response.text();
  const isFine = expected.status.includes(response.status);
  badge.textContent = response.status;
  badge.classList.add(isFine ? 'good' : 'bad');
  answer.hidden = text === '';
  if (!response.headers.get('content-type')?.includes('json')) {
    answer.textContent = text;
    return isFine;
  }
  const json = JSON.parse(text);
  showJson(answer, json);
  for (const [name, path] of Object.entries(expected.keep ?? {}))
    values.set(name, lastSegment(at(json, path)));
  const isProved = expected.proof === undefined || showProof(proof, expected.proof, json);
  return isFine && isProved;
};

/** Resets a step and the steps after it, because they use its values. */
const reset = (name) => {
  done.delete(name);
  steps.find(({ dataset }) => dataset.step === name).querySelector('[role=status]').textContent = '';
  for (const { dataset } of steps) if (dataset.after === name) reset(dataset.step);
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
  // A new member replaces the previous one, so all steps of that member are reset.
  const isNewMember = ({ dataset }) => dataset.newMember !== undefined;
  for (const { dataset } of isNewMember(step) ? steps.filter(isNewMember) : [step]) reset(dataset.step);
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
