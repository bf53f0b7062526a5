import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Stopped } from './failure.mjs';
import { pause, within } from './time.mjs';

/**
 * @typedef {'tool' | 'gateway' | 'service' | 'server'} Tier
 *
 * @typedef {object} Launch
 * @property {string} name name in messages
 * @property {Tier} tier determines the stopping order
 * @property {string} command
 * @property {string[]} args
 * @property {NodeJS.ProcessEnv} [env] the complete environment; the caller's by default
 * @property {string} [cwd]
 * @property {string} [logFile] without one, the child inherits this process's output
 * @property {boolean} [append] keep the log of the child's earlier run
 * @property {() => void} [cleanUp] runs after the process has ended
 * @property {() => Promise<unknown>} [restart] restarts it after an unexpected end; resolves when it is ready
 * @property {boolean} [restartsOnChange] its starter restarts it after a change of its sources
 *
 * @typedef {object} Running
 * @property {number} pid
 * @property {boolean} endExpected whether its end is not reported, because it is being stopped or its starter handles the end
 * @property {string | undefined} ended how it ended; undefined while it runs
 * @property {Promise<void>} exited
 * @property {(graceMs: number) => Promise<void>} stop
 *
 * @typedef {Launch & Running} Child
 *
 * @typedef {ReturnType<typeof createSupervisor>} Supervisor
 */

/**
 * The gateway stops first, so nothing new comes in. The servers stop last, so services can finish. Replicas
 * serve new requests for a while (DRAIN_MS).
 */
const stoppingOrder = /** @type {const} */ ([
  { tier: 'tool', graceMs: 1_000 },
  { tier: 'gateway', graceMs: 4_000 },
  { tier: 'service', graceMs: 4_000 },
  { tier: 'server', graceMs: 3_000 },
]);

const LOG_LIMIT = { bytes: 64 * 1024 ** 2, checkMs: 5_000 };

/**
 * Starts processes, each in a separate process group. A Ctrl-C in the terminal then reaches only this process,
 * which decides the order. A signal to the group also ends processes that the child has started.
 * @param {{ recordFile?: string, url?: string, isDisposable?: boolean, onUnexpectedExit?: (child: Child) => void, logLimit?: typeof LOG_LIMIT }} [options]
 *   url: address of the product, for the record; isDisposable: nobody needs the data, so only tools get time for an orderly end
 */
export function createSupervisor({
  recordFile,
  url,
  isDisposable,
  onUnexpectedExit,
  logLimit = LOG_LIMIT,
} = {}) {
  /** @type {Set<Child>} */
  const children = new Set();
  let closing = false;
  let recorded = false;

  const record = () => {
    if (!recordFile) return;
    recorded = true;
    try {
      writeRecord(recordFile, recordOf(children, url));
    } catch {
      // The disk may be full. The record matters only after a kill, and the processes must still end in order.
    }
  };

  /** @param {Launch} launch @returns {Child} */
  function start(launch) {
    if (closing) throw new Stopped();
    const { process: started, failed } = spawnDetached(launch);
    const stopLimiting = launch.logFile === undefined ? () => {} : limitLog(launch.logFile, logLimit);
    const ended = new Promise((resolve) => {
      started.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
      started.once('error', (error) => resolve(error.message));
    });
    const pid = started.pid ?? 0;
    /** @type {Child} */
    const child = {
      ...launch,
      pid,
      endExpected: false,
      ended: undefined,
      exited: ended.then((how) => {
        child.ended = how;
        stopLimiting();
        // Processes that the child left running in its group must not outlive it.
        signalGroup(pid, 'SIGKILL');
        children.delete(child);
        launch.cleanUp?.();
        record();
        if (!child.endExpected && !closing) onUnexpectedExit?.(child);
      }),
      stop: (graceMs) => stopChild(child, graceMs),
    };
    if (!failed) children.add(child);
    record();
    return child;
  }

  async function stopAll() {
    closing = true;
    await stopInOrder(children, ({ tier }, graceMs) => (isDisposable && tier !== 'tool' ? 0 : graceMs));
    // Without a record by this run, the file belongs to another run.
    if (recordFile && recorded) rmSync(recordFile, { force: true });
  }

  /**
   * Stops the matching children in order. Each gets enough time, because a killed server may leave its files in an inconsistent state.
   * @param {(child: Child) => boolean} isPaused
   * @returns {Promise<() => Promise<void>>} starts them again
   */
  async function pauseEach(isPaused) {
    const paused = [...children].filter((child) => child.restart && isPaused(child));
    await stopInOrder(paused, () => 30_000);
    return async () => {
      const started = paused
        .filter(({ tier }) => tier === 'server')
        .map(({ name, restart }) => ({ name, up: restart?.() }));
      // Services need their database. RabbitMQ takes as long as they do, and they start without it.
      await started.find(({ name }) => name === 'mongodb')?.up;
      const others = paused.filter(({ tier }) => tier !== 'server').map(({ restart }) => restart?.());
      await Promise.all([...started.map(({ up }) => up), ...others]);
    };
  }

  return {
    start,
    stopAll,
    pauseEach,
    get closing() {
      return closing;
    },
    /** Kills every child at once, when this process ends. */
    killAll() {
      for (const child of children) signalGroup(child.pid, 'SIGKILL');
    },
  };
}

/** @param {Iterable<Child>} children @param {(child: Child, graceMs: number) => number} graceOf gets the usual time of the tier */
async function stopInOrder(children, graceOf) {
  for (const { tier, graceMs } of stoppingOrder) {
    const ofTier = [...children].filter((child) => child.tier === tier);
    await Promise.all(ofTier.map((child) => child.stop(graceOf(child, graceMs))));
  }
}

/** @param {Launch} launch */
function spawnDetached({ command, args, env, cwd, logFile, append }) {
  const log = logFile === undefined ? undefined : openLog(logFile, append);
  try {
    const started = spawn(command, args, {
      cwd,
      env: env ?? process.env,
      detached: true,
      stdio: ['ignore', log ?? 'inherit', log ?? 'inherit'],
    });
    return { process: started, failed: started.pid === undefined };
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** @param {string} logFile @param {boolean} [append] */
function openLog(logFile, append) {
  mkdirSync(dirname(logFile), { recursive: true });
  if (!append) rmSync(logFile, { force: true });
  // Each line is added at the end, even after the file was emptied.
  return openSync(logFile, 'a', 0o600);
}

/**
 * Keeps a log below about twice its limit. Since a process has its log open, the content is copied to a second file and the first one is
 * emptied. A line written between the two steps is lost.
 * @param {string} logFile
 * @param {typeof LOG_LIMIT} limit
 */
function limitLog(logFile, { bytes, checkMs }) {
  const timer = setInterval(() => {
    try {
      if (statSync(logFile).size <= bytes) return;
      copyFileSync(logFile, `${logFile}.1`);
      truncateSync(logFile);
    } catch {
      // The disk may be full, or somebody has removed the log. The process continues.
    }
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** @param {Child} child @param {number} graceMs */
async function stopChild(child, graceMs) {
  child.endExpected = true;
  if (child.ended !== undefined) return;
  signalGroup(child.pid, 'SIGTERM');
  await within(child.exited, graceMs);
  if (child.ended !== undefined) return;
  signalGroup(child.pid, 'SIGKILL');
  await within(child.exited, 1_000);
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function signalGroup(pid, signal) {
  if (pid <= 0) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The whole group has already ended.
  }
}

/**
 * Runs a command to completion. Its output goes to the log.
 * @param {Supervisor} supervisor
 * @param {Omit<Launch, 'tier'> & { timeoutMs?: number }} launch
 * @returns {Promise<boolean>} whether it succeeded
 */
export async function runTool(supervisor, { timeoutMs = 15 * 60_000, ...launch }) {
  const child = supervisor.start({ ...launch, tier: 'tool' });
  // The caller handles the failure of a tool.
  child.endExpected = true;
  await within(child.exited, timeoutMs);
  if (child.ended === undefined) await child.stop(1_000);
  if (supervisor.closing) throw new Stopped();
  return child.ended === 'exit code 0';
}

/** @param {string | undefined} logFile @param {number} lines */
export function lastLines(logFile, lines) {
  if (logFile === undefined) return '';
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}

/** The fields of /proc/<pid>/stat from the state on; undefined without such a process, or without /proc. @param {number} pid */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Waits for progress instead of a fixed time: a start on a busy machine takes as long as it takes.
 * @param {Child} child
 * @param {{ stillMs: number, atMostMs: number }} limits
 * @returns {(state?: string) => boolean} whether the child has stopped making progress: its `state` has not changed for `stillMs`;
 *   without a state, it has not used the processor
 */
export function watchProgress({ pid }, { stillMs, atMostMs }) {
  const end = Date.now() + atMostMs;
  let [last, deadline] = ['', Date.now() + stillMs];
  return (state) => {
    const current = state ?? statOf(pid)?.slice(11, 13).join(' ') ?? '';
    if (current !== last) [last, deadline] = [current, Date.now() + stillMs];
    return Date.now() > Math.min(deadline, end);
  };
}

/**
 * The start time of a process. Process ids are reused; id and start time together identify one process.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function startTimeOf(pid) {
  const fields = statOf(pid);
  if (fields) return fields[0] === 'Z' ? undefined : fields[19];
  if (process.platform === 'linux') return undefined;
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** @param {Iterable<Child>} children @param {string} [url] */
function recordOf(children, url) {
  const entry = (/** @type {number} */ pid) => ({ pid, startTime: startTimeOf(pid) });
  return JSON.stringify({
    supervisor: { ...entry(process.pid), url },
    children: [...children].map((child) => ({ name: child.name, ...entry(child.pid) })),
  });
}

/** Other commands may read the record at any time, so it is replaced at once. @param {string} recordFile @param {string} record */
function writeRecord(recordFile, record) {
  mkdirSync(dirname(recordFile), { recursive: true });
  writeFileSync(`${recordFile}.new`, record);
  renameSync(`${recordFile}.new`, recordFile);
}

/** Makes this process the owner of a record that does not exist. @param {string} recordFile @returns {boolean} whether it is the owner */
export function claimRecord(recordFile) {
  mkdirSync(dirname(recordFile), { recursive: true });
  const own = `${recordFile}.${process.pid}`;
  writeFileSync(own, recordOf([]));
  try {
    // Unlike a write, this never shows an incomplete record.
    linkSync(own, recordFile);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own);
  }
}

/** @param {{ pid: number, startTime?: string }} entry */
const isAlive = ({ pid, startTime }) => startTime !== undefined && startTimeOf(pid) === startTime;

/** The run that owns this record, if it is alive. @param {string} recordFile */
export function runningSupervisor(recordFile) {
  const record = readRecord(recordFile);
  return record && isAlive(record.supervisor) ? record.supervisor : undefined;
}

/** The processes of this record that run, even if the run that started them was killed. @param {string} recordFile */
export const runningChildren = (recordFile) => readRecord(recordFile)?.children.filter(isAlive) ?? [];

/** Ends processes left behind by an earlier run that was killed. @param {string} recordFile @returns {Promise<string[]>} their names */
export async function endLeftovers(recordFile) {
  const leftovers = runningChildren(recordFile);
  for (const { pid } of leftovers) signalGroup(pid, 'SIGTERM');
  const deadline = Date.now() + 3_000;
  while (leftovers.some(isAlive) && Date.now() < deadline) await pause(50);
  for (const { pid } of leftovers) signalGroup(pid, 'SIGKILL');
  // Meanwhile, another command may have done the same and made a record of its own.
  if (!runningSupervisor(recordFile)) rmSync(recordFile, { force: true });
  return leftovers.map(({ name }) => name);
}

/**
 * @param {string} recordFile
 * @returns {{ supervisor: { pid: number, startTime?: string, url?: string }, children: { name: string, pid: number, startTime?: string }[] } | undefined}
 */
function readRecord(recordFile) {
  try {
    return JSON.parse(readFileSync(recordFile, 'utf8'));
  } catch {
    return undefined;
  }
}
