/** Starts a peer as a child process that ends with this one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Peer {
  pid: number | undefined;
  /** Output up to and including the first line for which `isReady` holds. */
  output: string;
}

export const spawnPeer = async (
  command: string,
  args: readonly string[],
  isReady: (line: string) => boolean = () => true,
): Promise<Peer> => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  const lines: string[] = [];
  const ready = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (isReady(line)) return true;
    }
    return false;
  })();
  const failed = once(child, 'error').then(([error]) => Promise.reject(error));
  const started = await Promise.race([ready, failed]);
  child.stdout.resume();
  if (!started) throw new Error(`${command} has ended: ${lines.join(' ')}`);
  return { pid: child.pid, output: lines.join('\n') };
};
