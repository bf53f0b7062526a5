/** The demo accounts and their content. */
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';
import data from './data.json' with { type: 'json' };

/** `height`, in centimeters, is written last: it marks a complete account. The last of the posts is the newest. */
export const DEMO = data;

export type Person = (typeof data.people)[keyof typeof data.people];
export type DemoPost = (typeof data.posts)[number];

/** The demo accounts, which share a password. The operator needs a second factor for most of their permissions. */
export const DEMO_ACCOUNTS = Object.keys(data.people).map((username) => ({
  username,
  password: DEMO_PASSWORD,
}));
