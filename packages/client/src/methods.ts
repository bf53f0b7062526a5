/** The operations under readable names, such as `client.refunds.resolve(3, { outcome: 'refunded', note: '…' })`. */
import { type Outcome, unwrap } from './errors.ts';
import { METHODS } from './generated/methods.ts';
import type { paths } from './generated/schema.ts';
import type { ListPath, Query, Row } from './lists.ts';

export interface CallOptions {
  signal?: AbortSignal;
  /** For an operation that accepts a key. The client generates one if it is omitted. */
  idempotencyKey?: string;
}

type Names = typeof METHODS;
type Call = readonly [method: string, path: string, input: 'body' | 'list' | 'none' | 'query'];

type OperationOf<Method extends string, Path extends keyof paths> =
  Lowercase<Method> extends keyof paths[Path] ? paths[Path][Lowercase<Method>] : never;

type IdOf<Operation> = Operation extends { parameters: { path: { id: infer Id } } } ? [id: Id] : [];
type QueryOf<Operation> = Operation extends { parameters: { query: infer Parameters } }
  ? [query: Parameters]
  : Operation extends { parameters: { query?: infer Parameters } }
    ? [query?: Parameters]
    : [];
type BodyOf<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? [body: Body]
  : Operation extends { requestBody?: { content: { 'application/json': infer Body } } }
    ? [body?: Body]
    : [];
type InputOf<Input, Operation> = Input extends 'body'
  ? BodyOf<Operation>
  : Input extends 'query'
    ? QueryOf<Operation>
    : [];
/** The body of a successful response. */
type DataOf<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses & (200 | 201 | 202)]: Responses[Status] extends {
        content: { 'application/json': infer Body };
      }
        ? Body
        : never;
    }[keyof Responses & (200 | 201 | 202)]
  : never;
/** Undefined for a response without a body. */
type ResultOf<Operation> = [DataOf<Operation>] extends [never] ? undefined : DataOf<Operation>;

type MethodOf<Named> = Named extends readonly [infer Method extends string, infer Path, infer Input]
  ? Input extends 'list'
    ? Path extends ListPath
      ? (query?: Query<Path>) => AsyncGenerator<Row<Path>, void, undefined>
      : never
    : Path extends keyof paths
      ? (
          ...args: [
            ...IdOf<OperationOf<Method, Path>>,
            ...InputOf<Input, OperationOf<Method, Path>>,
            options?: CallOptions,
          ]
        ) => Promise<ResultOf<OperationOf<Method, Path>>>
      : never
  : never;

/** Each resolves with the data of the response, or rejects with an `ApiError` or a `NetworkError`. A list is read row by row. */
export type Methods = {
  [Namespace in keyof Names]: { [Name in keyof Names[Namespace]]: MethodOf<Names[Namespace][Name]> };
};

type Request = (method: string, path: string, init: object) => Promise<Outcome>;
type List = (path: string, query: unknown) => unknown;

/** Arguments in this order: the id in the path, the body or the query, then options. */
const initOf = ([, path, input]: Call, args: readonly unknown[]): object => {
  const rest = [...args];
  const id = path.includes('{id}') ? { path: { id: rest.shift() } } : {};
  const sent = input === 'none' ? undefined : rest.shift();
  const { signal, idempotencyKey } = (rest.shift() ?? {}) as CallOptions;
  return {
    params: {
      ...id,
      ...(input === 'query' ? { query: sent ?? {} } : {}),
      ...(idempotencyKey === undefined ? {} : { header: { 'idempotency-key': idempotencyKey } }),
    },
    ...(input === 'body' && sent !== undefined ? { body: sent } : {}),
    ...(signal === undefined ? {} : { signal }),
  };
};

export const createMethods = (request: Request, list: List): Methods => {
  const methodOf = (call: Call) => {
    const [method, path, input] = call;
    if (input === 'list') return (query?: unknown) => list(path, query);
    return async (...args: unknown[]) => unwrap(request(method.toLowerCase(), path, initOf(call, args)));
  };
  const namespaces = Object.entries(METHODS).map(([namespace, methods]) => [
    namespace,
    Object.fromEntries(Object.entries(methods).map(([name, call]) => [name, methodOf(call)])),
  ]);
  return Object.fromEntries(namespaces) as Methods;
};
