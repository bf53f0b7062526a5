/** How long a page waits for what only adorns its rows; without an answer they are shown bare, and the log says so. */
export const EMBEDDED_DEADLINE_MS = 500;
