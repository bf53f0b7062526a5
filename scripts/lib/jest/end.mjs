/** Jest's globalTeardown. */
export { end as default } from './prepare.mjs';
