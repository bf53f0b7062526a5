/** An error that the user can correct: its message is printed without a stack. */
export class Failure extends Error {}

/** Work ended because the script is stopping. */
export class Stopped extends Error {
  constructor() {
    super('stopped');
  }
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
