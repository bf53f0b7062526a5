import type { Dependencies } from '../dependencies.ts';

/** Logs an alert for operators: no purchase can be redeemed until the credentials are corrected. */
export const alertRefusedCredentials = ({ log, channel }: Dependencies, detail: string): void =>
  log.error(
    { alert: 'store_credentials_refused', channel: channel.name, detail },
    'the store refuses our credentials',
  );
