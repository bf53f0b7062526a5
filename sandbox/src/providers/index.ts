/**
 * The emulated providers. The sandbox's routes, the variables of `npm start` and of the tests, and deploy/demo.env are
 * derived from this list.
 */
import type { Provider } from '../wire.ts';
import { cafebazaar } from './cafebazaar.ts';
import { fcm } from './fcm.ts';
import { googlePlay } from './google-play.ts';
import { kavenegar } from './kavenegar.ts';
import { myket } from './myket.ts';
import { zibal } from './zibal.ts';

export const PROVIDERS: readonly Provider[] = [kavenegar, zibal, cafebazaar, myket, googlePlay, fcm];

export const SMTP_PORT = 8089;

/**
 * The variables with which the product calls the sandbox at `url` (its origin) in place of the providers. `smtpPort` is
 * the port of its SMTP relay on the same host.
 */
export const productEnvironment = (url: string, smtpPort: number = SMTP_PORT): Record<string, string> => ({
  SANDBOX_URL: url,
  SMTP_URL: `smtp://sandbox:sandbox@${new URL(url).hostname}:${smtpPort}`,
  SMTP_FROM: 'Fitness <no-reply@fitness.example>',
  ...Object.assign({}, ...PROVIDERS.map(({ prefix, environment }) => environment(url + prefix))),
});
