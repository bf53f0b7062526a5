/**
 * A typed client of one gRPC service. Every call has a deadline, at most that of the current request, and a circuit
 * breaker. An error that the target threw is thrown again here. A missing response is `unavailable` (503), never a
 * "no".
 */
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type Caller, GUEST } from '../kernel/caller.ts';
import { createCircuitBreaker } from '../kernel/circuit-breaker.ts';
import { deadlineIn } from '../kernel/clock.ts';
import { scaledDeadline } from '../kernel/config.ts';
import { OUTCOME_UNKNOWN, outcomeUnknown, unavailable } from '../kernel/error.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { assertInTime, remainingMs } from '../kernel/request-scope.ts';
import { sleep } from '../kernel/timing.ts';
import { currentTrace, startSpan } from '../kernel/trace.ts';
import { CALLER_HEADER, type CallerSigner } from '../process-identity/caller-context.ts';
import type { ProcessTls } from '../process-identity/process-tls.ts';
import { targetOf } from './address.ts';
import { channelCredentials } from './credentials.ts';
import { codeOf, fromServiceError, isRefusal } from './errors.ts';
import { spanOf, spanResult } from './spans.ts';

export interface GrpcClientOptions<Definition> {
  definition: Definition;
  /** `host:port`, or the list of a configuration variable. Calls rotate over the replicas. */
  address: string;
  /** The called process. */
  target: ProcessName;
  /** The name of this client in metrics, logs and errors. Default: the name of the target. */
  name?: string | undefined;
  /** Signs in the name of the calling process. */
  signer: CallerSigner;
  /** Without it the connection is not encrypted. */
  tls?: ProcessTls | undefined;
  metrics?: Metrics | undefined;
  /** Default deadline of a call. */
  deadlineMs?: number;
}

interface CallOptions {
  deadlineMs?: number;
  /** The user on whose behalf the call is made. */
  caller?: Caller;
  /** Retry once when the target is unavailable. Only for reads and for calls with an idempotency key. */
  retry?: boolean;
}

type RequestOf<Method> = Method extends { requestSerialize: (request: infer Request) => Buffer }
  ? Request
  : never;
type ResponseOf<Method> = Method extends { responseDeserialize: (bytes: Buffer) => infer Response }
  ? Response
  : never;

export interface GrpcClient<Definition> {
  /** Throws the AppError of the target, or `unavailable` when there is no response. */
  call<Name extends keyof Definition & string>(
    method: Name,
    request: RequestOf<Definition[Name]>,
    options?: CallOptions,
  ): Promise<ResponseOf<Definition[Name]>>;
  close(): void;
}

const DEFAULT_DEADLINE_MS = 5_000;
const BREAKER_RESET_MS = 1_000;
const RETRY_DELAY_MS = 100;

const CHANNEL_OPTIONS = {
  // Channelz would count every call for a debugging service that no process offers.
  'grpc.enable_channelz': 0,
  // A frozen replica loses its calls after 2.5 s at most, which is less than the deadlines of calls that are retried elsewhere.
  'grpc.keepalive_time_ms': 1_000,
  'grpc.keepalive_timeout_ms': 1_500,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 250,
  // The default policy sends every call to the first replica that responds.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // Otherwise a name server could replace the configuration.
  'grpc.service_config_disable_resolution': 1,
  // A name is resolved again whenever a connection ends, but no sooner than this.
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
} as const;

/** The longest delay before a reconnection to a target that is up again. */
export const LONGEST_RECONNECT_MS = BREAKER_RESET_MS + CHANNEL_OPTIONS['grpc.max_reconnect_backoff_ms'];

export const createGrpcClient = <Definition>(
  options: GrpcClientOptions<Definition>,
): GrpcClient<Definition> => {
  const { target, name = target, signer, metrics } = options;
  const channel = new Client(targetOf(options.address), ...channelOf(target, options.tls));
  const send = async (method: string, request: unknown, call: CallOptions): Promise<unknown> => {
    const definition = (options.definition as ServiceDefinition)[method];
    if (definition === undefined) throw new Error(`${name} has no method ${method}`);
    const span = startSpan(...spanOf('client', definition.path, currentTrace()?.traceparent));
    const metadata = createMetadata(signer.sign(target, call.caller ?? GUEST), span.traceparent);
    const ownDeadline = scaledDeadline(call.deadlineMs ?? options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    const deadline = Math.min(ownDeadline, Math.max(1, remainingMs()));
    const stop = metrics?.grpcClientDuration.startTimer({ target: name, method });
    return new Promise((resolve, reject) => {
      channel.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        metadata,
        { deadline: deadlineIn(deadline) },
        (error, response) => {
          const code = error === null ? 'OK' : (status[error.code] ?? 'UNKNOWN');
          stop?.({ code });
          span.end(spanResult(code));
          if (error === null) resolve(response);
          else reject(error);
        },
      );
    });
  };
  const breaker = createCircuitBreaker(send, {
    target: name,
    metrics,
    resetTimeoutMs: BREAKER_RESET_MS,
    // A call that had little time left says nothing about the target.
    isRefusal: (error) => isRefusal(error as ServiceError) || remainingMs() <= 0,
  });
  const fire = async (method: string, request: unknown, call: CallOptions): Promise<unknown> => {
    try {
      return await breaker.fire(method, request, call);
    } catch (error) {
      const retryable = call.retry === true && (error as ServiceError).code === status.UNAVAILABLE;
      if (!retryable) throw error;
      await sleep(RETRY_DELAY_MS);
      return breaker.fire(method, request, call);
    }
  };
  return {
    call: async (method, request, call = {}) => {
      assertInTime();
      try {
        return (await fire(method, request, call)) as never;
      } catch (error) {
        if (isRefusal(error as ServiceError)) throw fromServiceError(error as ServiceError);
        const text = `${name}.${method}: ${(error as Error).message}`;
        throw codeOf(error as ServiceError) === OUTCOME_UNKNOWN
          ? outcomeUnknown(text, error)
          : unavailable(text, error);
      }
    },
    close: () => {
      breaker.shutdown();
      channel.close();
    },
  };
};

const channelOf = (target: ProcessName, tls: ProcessTls | undefined): [ChannelCredentials, ClientOptions] => {
  if (tls === undefined) return [channelCredentials(tls), CHANNEL_OPTIONS];
  // The certificate names the process, not the address.
  const named = { 'grpc.ssl_target_name_override': target, 'grpc.default_authority': target };
  return [channelCredentials(tls), { ...CHANNEL_OPTIONS, ...named }];
};

const createMetadata = (context: string, traceparent: string): Metadata => {
  const metadata = new Metadata();
  metadata.set(CALLER_HEADER, context);
  metadata.set('traceparent', traceparent);
  const requestId = currentTrace()?.requestId;
  if (requestId !== undefined) metadata.set('x-request-id', requestId);
  return metadata;
};
