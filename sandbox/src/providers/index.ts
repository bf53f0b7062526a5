/**
 * The emulated providers. The sandbox's routes, the variables of `npm start` and of the tests, and deploy/demo.env are
 * derived from this list.
 */
import type { Provider } from '../wire.ts';
import { cafebazaar } from './cafebazaar.ts';
import { googlePlay } from './google-play.ts';
import { kavenegar } from './kavenegar.ts';
import { myket } from './myket.ts';
import { zibal } from './zibal.ts';

export const PROVIDERS: readonly Provider[] = [kavenegar, zibal, cafebazaar, myket, googlePlay];

/** The variables with which the product calls the sandbox at `url` (its origin) in place of the providers. */
export const productEnvironment = (url: string): Record<string, string> => ({
  SANDBOX_URL: url,
  ...Object.assign({}, ...PROVIDERS.map(({ prefix, environment }) => environment(url + prefix))),
});
