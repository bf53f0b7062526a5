/** In the browser: searches the index of the site, which is loaded when somebody first uses the field. */
import MiniSearch from './minisearch.js';

const MOST_RESULTS = 12;
const root = document.documentElement.dataset.root;
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

const rowOf = ({ id, title, page }) => {
  const link = document.createElement('a');
  link.href = `${root}/${id}`;
  link.textContent = title === page ? title : `${page}: ${title}`;
  const row = document.createElement('li');
  row.append(link);
  return row;
};

const show = async () => {
  const query = field.value.trim();
  const index = await load();
  // The text may have changed meanwhile.
  if (query !== field.value.trim()) return;
  const rows = index.search(query, {
    prefix: true,
    fuzzy: 0.1,
    combineWith: 'AND',
    boost: { title: 3, page: 2 },
  });
  results.replaceChildren(...rows.slice(0, MOST_RESULTS).map(rowOf));
  results.hidden = rows.length === 0;
  found.textContent = query === '' ? '' : `${rows.length} found`;
};

const unfold = () => {
  navigation.open = wide.matches;
};

document.querySelector('search').hidden = false;
field.addEventListener('focus', load);
field.addEventListener('input', show);
field.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  field.value = '';
  results.hidden = true;
});
wide.addEventListener('change', unfold);
unfold();
