/** How long a response waits for embedded resources that it can omit. */
export const EMBEDDED_DEADLINE_MS = 500;
