/** Credentials that the emulator of each store refuses. */
import type { ChannelName } from '../src/channels/index.ts';

export const REFUSED_CREDENTIALS: Readonly<Record<ChannelName, Record<string, string>>> = {
  cafebazaar: { CAFEBAZAAR_API_SECRET: 'invalid-secret' },
  myket: { MYKET_ACCESS_TOKEN: 'invalid-token' },
  google_play: { GOOGLE_PLAY_CLIENT_EMAIL: 'invalid@example.com' },
};
