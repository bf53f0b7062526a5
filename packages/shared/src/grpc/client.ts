/**
 * A typed client of one gRPC service: every call has a deadline and passes a circuit breaker; a refusal of the other
 * side comes back as the AppError that it threw, a failure of it as 503. An unanswered question is never a "no".
 */
import {
  Client,
  credentials,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import CircuitBreaker from 'opossum';
import { CALLER_HEADER, type Caller, type CallerSigner, GUEST } from '../caller.ts';
import { deadlineIn } from '../clock.ts';
import { unavailable } from '../error.ts';
import type { Metrics } from '../metrics.ts';
import { childTraceparent, currentTrace } from '../trace.ts';
import { fromServiceError, isRefusal } from './errors.ts';

export interface GrpcClientOptions<Definition> {
  definition: Definition;
  /** `host:port` */
  address: string;
  /** The name of the target in metrics, logs and errors, e.g. `wallet`. */
  target: string;
  /** The calling process. */
  from: string;
  signer: CallerSigner;
  metrics?: Metrics | undefined;
  /** Default deadline of a call. */
  deadlineMs?: number;
}

interface CallOptions {
  deadlineMs?: number;
  /** The user on whose behalf the call is made. */
  caller?: Caller;
  /** Reads, and calls with an idempotency key, may be sent again once when the target was not reached. */
  retry?: boolean;
}

type RequestOf<Method> = Method extends { requestSerialize: (request: infer Request) => Buffer }
  ? Request
  : never;
type ResponseOf<Method> = Method extends { responseDeserialize: (bytes: Buffer) => infer Response }
  ? Response
  : never;

export interface GrpcClient<Definition> {
  /** Throws AppError: the target's own refusal, or kind `unavailable` when no answer could be had. */
  call<Name extends keyof Definition & string>(
    method: Name,
    request: RequestOf<Definition[Name]>,
    options?: CallOptions,
  ): Promise<ResponseOf<Definition[Name]>>;
  /** Rejects when the target does not answer the standard health service. */
  ping(): Promise<void>;
  close(): void;
}

const DEFAULT_DEADLINE_MS = 5_000;
/** A breaker needs this many calls in its window to judge, and tries again after this long. */
const BREAKER = {
  volumeThreshold: 10,
  errorThresholdPercentage: 50,
  rollingCountTimeout: 10_000,
  resetTimeout: 1_000,
};
const RETRY_DELAY_MS = 100;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
} as const;

/** How long a target that came back may have to wait until it is asked again. */
export const LONGEST_WAIT_MS = BREAKER.resetTimeout + CHANNEL_OPTIONS['grpc.max_reconnect_backoff_ms'];

const HEALTH_METHOD = {
  path: '/grpc.health.v1.Health/Check',
  serialize: () => Buffer.alloc(0),
  deserialize: (bytes: Buffer) => bytes,
};

export const createGrpcClient = <Definition>(
  options: GrpcClientOptions<Definition>,
): GrpcClient<Definition> => {
  const { target, from, signer, metrics } = options;
  const channel = new Client(options.address, credentials.createInsecure(), CHANNEL_OPTIONS);
  const send = async (method: string, request: unknown, call: CallOptions): Promise<unknown> => {
    const definition = (options.definition as ServiceDefinition)[method];
    if (definition === undefined) throw new Error(`${target} has no method ${method}`);
    const metadata = await createMetadata(signer, from, call.caller ?? GUEST);
    const deadline = call.deadlineMs ?? options.deadlineMs ?? DEFAULT_DEADLINE_MS;
    const stop = metrics?.grpcClientDuration.startTimer({ target, method });
    return new Promise((resolve, reject) => {
      channel.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        metadata,
        { deadline: deadlineIn(deadline) },
        (error, response) => {
          stop?.({ code: error === null ? 'OK' : (status[error.code] ?? 'UNKNOWN') });
          if (error === null) resolve(response);
          else reject(error);
        },
      );
    });
  };
  const breaker = new CircuitBreaker(send, { ...BREAKER, timeout: false, errorFilter: isRefusal });
  breaker.on('open', () => metrics?.breakerOpen.set({ target }, 1));
  breaker.on('close', () => metrics?.breakerOpen.set({ target }, 0));
  const fire = async (method: string, request: unknown, call: CallOptions): Promise<unknown> => {
    try {
      return await breaker.fire(method, request, call);
    } catch (error) {
      const retryable = call.retry === true && (error as ServiceError).code === status.UNAVAILABLE;
      if (!retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
      return breaker.fire(method, request, call);
    }
  };
  return {
    call: async (method, request, call = {}) => {
      try {
        return (await fire(method, request, call)) as never;
      } catch (error) {
        if (isRefusal(error as ServiceError)) throw fromServiceError(error as ServiceError);
        throw unavailable(`${target}.${method}: ${(error as Error).message}`, error);
      }
    },
    ping: () =>
      new Promise((resolve, reject) => {
        const { path, serialize, deserialize } = HEALTH_METHOD;
        const deadline = deadlineIn(1_500);
        channel.makeUnaryRequest(path, serialize, deserialize, {}, { deadline }, (error) =>
          error === null ? resolve() : reject(error),
        );
      }),
    close: () => {
      breaker.shutdown();
      channel.close();
    },
  };
};

const createMetadata = async (signer: CallerSigner, from: string, caller: Caller): Promise<Metadata> => {
  const metadata = new Metadata();
  metadata.set(CALLER_HEADER, await signer.sign({ from, caller }));
  const trace = currentTrace();
  metadata.set('traceparent', childTraceparent(trace?.traceparent));
  if (trace?.requestId !== undefined) metadata.set('x-request-id', trace.requestId);
  return metadata;
};
