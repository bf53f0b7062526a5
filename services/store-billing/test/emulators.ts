/** How the tests configure each store channel. */
import { generateKeyPairSync } from 'node:crypto';
import type { ChannelName } from '../src/channels/index.ts';

interface Emulator {
  /** The variables of the channel, for a sandbox at `url`. */
  variables: (url: string) => Record<string, string>;
  /** Credentials that the emulator refuses. */
  refusedCredentials: Record<string, string>;
}

const googleKey = generateKeyPairSync('rsa', { modulusLength: 2_048 });

export const EMULATORS: Readonly<Record<ChannelName, Emulator>> = {
  cafebazaar: {
    variables: (url) => ({
      CAFEBAZAAR_BASE_URL: `${url}/cafebazaar/devapi/v2`,
      CAFEBAZAAR_API_SECRET: 'sandbox',
    }),
    refusedCredentials: { CAFEBAZAAR_API_SECRET: 'invalid-secret' },
  },
  myket: {
    variables: (url) => ({ MYKET_BASE_URL: `${url}/myket/api/partners`, MYKET_ACCESS_TOKEN: 'sandbox' }),
    refusedCredentials: { MYKET_ACCESS_TOKEN: 'invalid-token' },
  },
  google_play: {
    variables: (url) => ({
      GOOGLE_PLAY_BASE_URL: `${url}/google-play`,
      GOOGLE_PLAY_TOKEN_URL: `${url}/google-play/token`,
      GOOGLE_PLAY_CLIENT_EMAIL: 'billing@sandbox.example',
      GOOGLE_PLAY_PRIVATE_KEY: googleKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }),
    refusedCredentials: { GOOGLE_PLAY_CLIENT_EMAIL: 'invalid@example.com' },
  },
};

/** The variables of all channels, for a sandbox at `url`. */
export const emulatorVariables = (url: string): Record<string, string> =>
  Object.assign({}, ...Object.values(EMULATORS).map(({ variables }) => variables(url)));
