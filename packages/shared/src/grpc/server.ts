/** The gRPC server of a service: declared callers only, AppErrors as statuses, the standard health service. */
import {
  Metadata,
  Server,
  type ServerUnaryCall,
  type ServiceDefinition,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { msUntil } from '../kernel/clock.ts';
import { isAppError } from '../kernel/error.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { toOutage } from '../kernel/outage.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { createRequestScope, type RequestScope, runInScope } from '../kernel/request-scope.ts';
import { runWithTrace, startSpan } from '../kernel/trace.ts';
import {
  CALLER_HEADER,
  type CallerSigner,
  type InternalContext,
} from '../process-identity/caller-context.ts';
import { isCertificateOf, type ProcessTls } from '../process-identity/process-tls.ts';
import { hostOf } from './address.ts';
import { callersOf } from './callers.ts';
import { serverCredentials } from './credentials.ts';
import { toServiceError } from './errors.ts';
import { spanOf, spanResult } from './spans.ts';

interface Method {
  requestDeserialize: (bytes: Buffer) => unknown;
  responseSerialize: (response: never) => Buffer;
}

/** One async function per RPC, from the decoded request to the response; a thrown AppError becomes its status. */
export type GrpcHandlers<Definition> = {
  [Name in keyof Definition as string extends Name
    ? never
    : number extends Name
      ? never
      : Name]: Definition[Name] extends Method
    ? (
        request: ReturnType<Definition[Name]['requestDeserialize']>,
        context: InternalContext,
      ) => Promise<Parameters<Definition[Name]['responseSerialize']>[0]>
    : never;
};

export interface GrpcService {
  definition: ServiceDefinition;
  handlers: Record<string, (request: never, context: InternalContext) => Promise<unknown>>;
}

/** A definition with its handlers, type-checked. */
export const grpcService = <Definition>(
  definition: Definition,
  handlers: GrpcHandlers<Definition>,
): GrpcService => ({
  definition: definition as ServiceDefinition,
  handlers: handlers as unknown as GrpcService['handlers'],
});

export interface GrpcServerOptions {
  /** From `grpcAddress`; port 0 picks a free one. */
  address: string;
  services: GrpcService[];
  signer: CallerSigner;
  /** Without it connections are not encrypted. */
  tls?: ProcessTls | undefined;
  metrics: Metrics;
  log: Logger;
  /** How long closing waits for current calls, in milliseconds. */
  closeGraceMs?: number | undefined;
}

export interface GrpcServer {
  /** The address with the bound port. */
  address: string;
  /** Makes the health service report that the process is stopping. Calls are still answered. */
  markStopping(): void;
  /** Answers the calls that have begun, and refuses others. */
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 3_000;

/**
 * After this time a client reconnects and discovers new replicas of a name. A call that has begun may end on the old
 * connection. Including the pause between two name look-ups, a new replica gets its share of calls within 30 s.
 */
const CONNECTION_AGE_MS = 15_000;
/** Longer than the deadline of any call. */
const CONNECTION_AGE_GRACE_MS = 60_000;

export const startGrpcServer = async (options: GrpcServerOptions): Promise<GrpcServer> => {
  const server = new Server({
    'grpc.enable_channelz': 0,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.http2.min_ping_interval_without_data_ms': 5_000,
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_connection_age_grace_ms': CONNECTION_AGE_GRACE_MS,
  });
  for (const { definition, handlers } of options.services) {
    const wrapped = Object.fromEntries(
      Object.entries(handlers).map(([name, handle]) => {
        const path = definition[name]?.path ?? name;
        return [name, wrap({ name, path, callers: callersOf(path), handle }, options)];
      }),
    );
    server.addService(definition, wrapped);
  }
  const health = new HealthImplementation({ '': 'SERVING' });
  health.addToServer(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(options.address, serverCredentials(options.tls), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `${hostOf(options.address)}:${port}`,
    markStopping: () => health.setStatus('', 'NOT_SERVING'),
    close: () =>
      new Promise((resolve) => {
        const force = setTimeout(() => {
          server.forceShutdown();
          // grpc-js waits forever for a connection that never spoke HTTP/2.
          resolve();
        }, options.closeGraceMs ?? CLOSE_GRACE_MS);
        server.tryShutdown(() => {
          clearTimeout(force);
          resolve();
        });
      }),
  };
};

/** Undefined for a missing, invalid or expired context. */
const contextOf = (metadata: Metadata, signer: CallerSigner): InternalContext | undefined => {
  try {
    return signer.verify(firstValue(metadata, CALLER_HEADER));
  } catch {
    return undefined;
  }
};

const firstValue = (metadata: Metadata, key: string): string | undefined => metadata.get(key)[0]?.toString();

interface Rpc {
  name: string;
  path: string;
  callers: readonly ProcessName[];
  handle: (request: never, context: InternalContext) => Promise<unknown>;
}

const wrap =
  ({ name, path, callers, handle }: Rpc, { signer, tls, metrics, log }: GrpcServerOptions) =>
  (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>): void => {
    const stopTimer = metrics.grpcServerDuration.startTimer({ method: name });
    const span = startSpan(...spanOf('server', path, firstValue(call.metadata, 'traceparent')));
    const stop = (code: string): void => {
      stopTimer({ code });
      span.end(spanResult(code));
    };
    const scope = createRequestScope(msUntil(call.getDeadline()));
    // The caller is gone or has stopped waiting.
    call.on('cancelled', () => {
      scope.deadline = Number.NEGATIVE_INFINITY;
    });
    const answer = async (): Promise<void> => {
      // Without error metadata, the calling process treats UNAUTHENTICATED as a failure of the call, not of the user (see
      // errors.ts).
      const refuse = (details: string): void => {
        stop('UNAUTHENTICATED');
        callback({ code: status.UNAUTHENTICATED, details });
      };
      const context = contextOf(call.metadata, signer);
      if (context === undefined) return refuse('unsigned call');
      if (!callers.includes(context.from)) {
        log.error(
          { method: name, from: context.from },
          'refused a call of a process that is not declared for it',
        );
        return refuse(`not for ${context.from}`);
      }
      const certificate = tls === undefined ? undefined : call.getAuthContext()?.sslPeerCertificate;
      if (tls !== undefined && !isCertificateOf(context.from, certificate)) {
        log.error(
          { method: name, from: context.from },
          'refused a call over the connection of another process',
        );
        return refuse(`not over a connection of ${context.from}`);
      }
      try {
        const response = await handle(call.request as never, context);
        stop('OK');
        callback(null, response);
      } catch (error) {
        const mapped = mapError(error, scope, name, log);
        stop(status[mapped.code ?? status.INTERNAL] ?? 'UNKNOWN');
        callback(mapped);
      }
    };
    const requestId = firstValue(call.metadata, 'x-request-id');
    void runWithTrace({ traceparent: span.traceparent, requestId }, () => runInScope(scope, answer));
  };

const mapError = (
  thrown: unknown,
  scope: RequestScope,
  method: string,
  log: Logger,
): Partial<ServiceError> => {
  const error = toOutage(thrown, scope) ?? thrown;
  if (isAppError(error)) {
    if (error.kind === 'internal' || error.kind === 'unavailable')
      log.warn({ err: error.cause ?? error, method }, 'gRPC call failed');
    return toServiceError(error);
  }
  log.error({ err: error, method }, 'gRPC call failed');
  return { code: status.INTERNAL, details: 'internal', metadata: new Metadata() };
};
