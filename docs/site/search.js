/** In the browser: searches the index of the site, which is loaded when somebody first uses the field. */
import MiniSearch from './minisearch.js';

const MOST_RESULTS = 12;
const root = document.documentElement.dataset.root;
const search = document.querySelector('search');
const field = document.querySelector('#search');
const results = document.querySelector('#results');
const found = document.querySelector('#found');
const wide = matchMedia('(min-width: 60rem)');
const navigation = document.querySelector('nav details');

/** @type {Promise<MiniSearch> | undefined} */
let loading;
const load = () => {
  loading ??= fetch(`${root}/assets/search.json`)
    .then((response) => response.text())
    .then((json) =>
      MiniSearch.loadJSON(json, { fields: ['title', 'page', 'text'], storeFields: ['title', 'page'] }),
    );
  return loading;
};

const rowOf = (content) => {
  const row = document.createElement('li');
  row.append(content);
  return row;
};

const linkTo = ({ id, title, page }) => {
  const link = document.createElement('a');
  link.href = `${root}/${id}`;
  link.textContent = title === page ? title : `${page}: ${title}`;
  return link;
};

const show = async () => {
  const query = field.value.trim();
  const index = await load();
  // The text may have changed meanwhile, or the focus have left.
  if (query !== field.value.trim() || !search.contains(document.activeElement)) return;
  const rows = index.search(query, {
    prefix: true,
    fuzzy: 0.1,
    combineWith: 'AND',
    boost: { title: 3, page: 2 },
  });
  const links = rows.slice(0, MOST_RESULTS).map(linkTo);
  results.replaceChildren(...(links.length === 0 ? ['Nothing found'] : links).map(rowOf));
  results.hidden = query === '';
  found.textContent = query === '' ? '' : `${rows.length} found`;
};

const hide = () => {
  results.hidden = true;
};

const unfold = () => {
  navigation.open = wide.matches;
};

search.hidden = false;
field.addEventListener('focus', show);
field.addEventListener('input', show);
field.addEventListener('keydown', async ({ key }) => {
  if (key !== 'Enter') return;
  await show();
  results.querySelector('a')?.click();
});
search.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  field.value = '';
  field.focus();
  hide();
});
search.addEventListener('focusout', ({ relatedTarget }) => {
  if (!search.contains(relatedTarget)) hide();
});
// A link to a heading of the same page loads no page.
results.addEventListener('click', ({ target }) => {
  if (target.closest('a')) hide();
});
wide.addEventListener('change', unfold);
unfold();
