/** CPU profiles of a running process of the product, by the debugger that Node starts on SIGUSR1. */
import { pause } from './figures.ts';

const DEBUGGER = 'http://127.0.0.1:9229/json/list';
const INTERVAL_US = 250;
const TRIES = 50;

interface Frame {
  functionName: string;
  /** Empty for what V8 itself does. */
  url: string;
}

interface CpuProfile {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
  timeDeltas: number[];
}

/** Milliseconds of the main thread by what it did; without the time that it waited. */
export interface Profile {
  busyMs: number;
  byPart: Map<string, number>;
  byFunction: Map<string, number>;
}

const debuggerAddress = async (): Promise<string> => {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    try {
      const [target] = (await (await fetch(DEBUGGER)).json()) as { webSocketDebuggerUrl: string }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch {
      // It does not listen yet.
    }
    await pause(20);
  }
  throw new Error('the process has started no debugger');
};

const connect = async (address: string) => {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const waiting = new Map<number, (result: never) => void>();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: never };
    if (id !== undefined) waiting.get(id)?.(result);
  };
  return {
    send: <Result>(method: string, params: object = {}): Promise<Result> => {
      last += 1;
      const id = last;
      socket.send(JSON.stringify({ id, method, params }));
      return new Promise((resolve) => waiting.set(id, resolve as (result: never) => void));
    },
    close: () => socket.close(),
  };
};

/** A package, a module of Node, a folder of the product, or what V8 does. */
const partOf = ({ url, functionName }: Frame): string => {
  if (url === '') return functionName.startsWith('(') ? functionName : 'built-in functions of V8 and Node';
  const installed = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1];
  if (installed !== undefined) return installed;
  const own = /\/(gateway|packages\/[^/]+|services\/[^/]+)\/src\/([^/]+)/.exec(url);
  if (own !== null) return `${own[1]}: ${own[2]}`;
  return url.replace(/^(node:[^/]+(?:\/[^/]+)?).*/, '$1');
};

const summarize = ({ nodes, samples, timeDeltas }: CpuProfile): Profile => {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const summary: Profile = { busyMs: 0, byPart: new Map(), byFunction: new Map() };
  const add = (times: Map<string, number>, key: string, ms: number) =>
    times.set(key, (times.get(key) ?? 0) + ms);
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)') continue;
    // A delta is the time since the sample before.
    const ms = (timeDeltas[index + 1] ?? INTERVAL_US) / 1_000;
    summary.busyMs += ms;
    add(summary.byPart, partOf(frame), ms);
    add(summary.byFunction, `${frame.functionName || '(anonymous)'}, ${partOf(frame)}`, ms);
  }
  return summary;
};

/** What the process did during `work`. Only one process may have its debugger open at a time. */
export const profiled = async (pid: number, work: () => Promise<unknown>): Promise<Profile> => {
  process.kill(pid, 'SIGUSR1');
  const { send, close } = await connect(await debuggerAddress());
  await send('Profiler.enable');
  await send('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await send('Profiler.start');
  await work();
  const { profile } = await send<{ profile: CpuProfile }>('Profiler.stop');
  // The next process listens on the same port. It closes after this connection.
  await send('Runtime.evaluate', {
    expression: "void setTimeout(() => process.getBuiltinModule('node:inspector').close(), 100)",
  });
  close();
  await pause(500);
  return summarize(profile);
};
