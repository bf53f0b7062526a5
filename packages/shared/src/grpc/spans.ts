/** The spans of gRPC calls: https://opentelemetry.io/docs/specs/semconv/rpc/grpc/ */
import type { SpanOptions, SpanResult } from '../kernel/trace.ts';

/** `path`: `/<package>.<Service>/<Method>`. */
export const spanOf = (
  kind: 'client' | 'server',
  path: string,
  parent: string | undefined,
): [name: string, options: SpanOptions] => {
  const method = path.slice(1);
  return [method, { kind, parent, attributes: { 'rpc.system.name': 'grpc', 'rpc.method': method } }];
};

/** Statuses that are failures. All others are refusals. */
const FAILURES = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

export const spanResult = (code: string): SpanResult => ({
  attributes: { 'rpc.response.status_code': code },
  error: FAILURES.has(code) ? code : undefined,
});
