/** An error that the user can correct. Only its message is printed, without a stack. */
export class Failure extends Error {}

/** Work was cancelled because the script is stopping. */
export class Stopped extends Error {
  constructor() {
    super('stopped');
  }
}

/** A part ended before it was ready. */
export class PartEnded extends Error {}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
