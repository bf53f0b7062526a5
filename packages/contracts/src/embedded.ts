/** How long a response waits for embedded resources of which it has a copy. */
export const EMBEDDED_DEADLINE_MS = 500;
