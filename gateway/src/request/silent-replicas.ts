/**
 * Finds replicas that accept connections and do not respond, such as a frozen process. They receive no requests until they respond
 * again. If no replica of a service responds in time, the machine is busy, and all of them receive requests.
 */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Dispatcher } from 'undici';
import { SERVICES, type Service } from './routes.ts';
import { isRepeatable, noResponse, passedOn } from './send-elsewhere.ts';

/** Interval of the health calls, and the time for a response. */
const CHECK_MS = 1_000;
const MISSES_MAX = 2;

interface Options {
  /** The origins of the replicas of a service. */
  originsOf(service: Service): readonly string[];
  /** Sends the health calls. */
  probe: Dispatcher;
  log: Logger;
  /** How long a replica that leaves is left out. */
  leaveMs: number;
  /** Called after other replicas may serve, and before waiting reads are sent to them. */
  onChange(): void;
}

const createState = (origin: string) => ({
  origin,
  isSilent: false,
  leftUntilMs: 0,
  /** Health calls since the last response, including the newest one. */
  calls: 0,
  /** Whether a health call is pending. A late response is also a response. */
  isAsked: false,
  /** Reads without a response. */
  reads: new Set<Dispatcher.DispatchController>(),
});
type State = ReturnType<typeof createState>;

const hasMissed = ({ calls }: State): boolean => calls > MISSES_MAX;

/** Ends the reads at a replica that becomes silent, and leaves one that is stopping. */
const watchReads =
  (
    stateOf: (origin: string) => State,
    leave: (origin: string) => void,
  ): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const state = stateOf(String(options.origin));
    return dispatch(options, {
      ...passedOn(handler),
      onRequestStart: (controller, context) => {
        // The request waited for a connection, and has not been sent.
        if (state.isSilent) return controller.abort(noResponse());
        if (isRepeatable(options)) state.reads.add(controller);
        handler.onRequestStart?.(controller, context);
      },
      onResponseStart: (...args) => {
        state.reads.delete(args[0]);
        // A replica closes the connection with its response only while it is stopping.
        if (args[2].connection === 'close') leave(state.origin);
        handler.onResponseStart?.(...args);
      },
      onResponseError: (controller, error) => {
        state.reads.delete(controller);
        handler.onResponseError?.(controller, error);
      },
    });
  };

export const createSilentReplicas = ({ originsOf, probe, log, leaveMs, onChange }: Options) => {
  const states = new Map<string, State>();
  const stateOf = (origin: string): State => {
    const state = states.get(origin) ?? createState(origin);
    states.set(origin, state);
    return state;
  };

  const update = (service: Service): void => {
    const replicas = originsOf(service).map(stateOf);
    const isBusy = replicas.every(hasMissed);
    for (const state of replicas) {
      const isSilent = !isBusy && hasMissed(state);
      if (isSilent === state.isSilent) continue;
      state.isSilent = isSilent;
      log.warn({ target: service, origin: state.origin, isSilent }, 'a replica is silent, or responds');
      onChange();
      if (isSilent) for (const read of state.reads) read.abort(noResponse());
    }
  };

  const check = async (origin: string, service: Service): Promise<void> => {
    const state = stateOf(origin);
    state.calls += 1;
    if (state.isAsked) return;
    state.isAsked = true;
    try {
      // Certificates name the process, not the address.
      const request = { origin, path: '/health/live', method: 'GET', servername: service } as const;
      await (await probe.request(request)).body.dump();
      state.calls = 0;
      update(service);
    } catch {
      // It is called again in the next round.
    }
    state.isAsked = false;
  };

  const timer = setInterval(() => {
    for (const service of SERVICES) {
      const origins = originsOf(service);
      if (origins.length > 1) for (const origin of origins) void check(origin, service);
      update(service);
    }
  }, CHECK_MS).unref();

  const leave = (origin: string | URL): void => {
    stateOf(new URL(origin).origin).leftUntilMs = performance.now() + leaveMs;
    onChange();
  };

  return {
    mayServe: (origin: string): boolean => {
      const { isSilent, leftUntilMs } = stateOf(origin);
      return !isSilent && performance.now() >= leftUntilMs;
    },
    update,
    /** Leaves out a replica that cannot be connected to, or is stopping, for a while. */
    leave,
    watch: watchReads(stateOf, leave),
    close: () => clearInterval(timer),
  };
};
