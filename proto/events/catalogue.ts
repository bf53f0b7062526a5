/** All events of the product. */
import * as content from './content.ts';
import type { EventDefinition } from './define-event.ts';
import * as gyms from './gyms.ts';
import * as identity from './identity.ts';
import * as media from './media.ts';
import * as storeBilling from './store-billing.ts';
import * as wallet from './wallet.ts';

/** Every event that a producer's file exports. */
export const EVENTS: readonly EventDefinition[] = [
  content,
  gyms,
  identity,
  media,
  storeBilling,
  wallet,
].flatMap((definitions): EventDefinition[] => Object.values(definitions));
