/** Something the person at the keyboard can act on: its message is printed as it is, without a stack. */
export class Failure extends Error {}

/** Work was called off because everything is being stopped. */
export class Stopped extends Error {
  constructor() {
    super('stopped');
  }
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
