export interface PortNeed {
  port: number;
  /** The part that needs it. */
  part: string;
  /** The environment variable that changes it. */
  variable: string;
}

/** Rejects with a message for the user when a port is taken. */
export function assertFree(needs: PortNeed[], options?: { host?: string; hint?: string }): Promise<void>;

/** Free ports of 127.0.0.1, each a different one. */
export function freePorts(count: number): Promise<number[]>;
