/** Jest's globalTeardown. */
export { end as default } from './setup.mjs';
