/**
 * Calls of the API. Each is declared once, with its operation and the permissions that it takes. The types of the client check its
 * parameters and its answer. The declarations are also what the session of `/ops` may call.
 */
import type { paths } from '@fitness/client';
import { can } from '@fitness/shared/kernel/caller.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ApiAnswer, ApiCall } from '@fitness/shared/pages/visitor.ts';
import { type Operator, queryOf } from './operator.ts';

type Method = 'get' | 'post' | 'put' | 'delete';
/** The operations of the API, such as `GET /users/{id}`. */
export type OperationName = {
  [Path in keyof paths]: Path extends `/api/v1${infer Short}`
    ? {
        [M in Method]: paths[Path] extends Record<M, { responses: unknown }>
          ? `${Uppercase<M>} ${Short}`
          : never;
      }[Method]
    : never;
}[keyof paths];
type OperationOf<Name extends string> = Name extends `${infer M} ${infer Short}`
  ? `/api/v1${Short}` extends infer Path extends keyof paths
    ? paths[Path][Lowercase<M> & Method]
    : never
  : never;

/** The body of a 200 response. */
export type BodyOf<Name extends string> =
  OperationOf<Name> extends { responses: { 200: { content: { 'application/json': infer Body } } } }
    ? Body
    : object;

type ParametersOf<Operation> = Operation extends { parameters: { path: infer Path } }
  ? { [Name in keyof Path]: string | number }
  : unknown;
type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? { query?: { [Name in keyof NonNullable<Query>]?: string | number | boolean | undefined } }
  : unknown;
type FieldsOf<Operation> = Operation extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : unknown;
/** The parameters of a call. Its body has only the declared fields. */
export type InputOf<Name extends string, Field extends string = never> = ParametersOf<OperationOf<Name>> &
  QueryOf<OperationOf<Name>> & {
    body?: Pick<FieldsOf<OperationOf<Name>>, Field & keyof FieldsOf<OperationOf<Name>>>;
  };

export interface Declaration {
  /** Method and path. */
  operation: string;
  /** The operator needs one of them, if there are any. */
  permissions: readonly Permission[];
  /** The fields of its body. */
  fields: readonly string[];
  /** Whether the operator has a permission for it. The service checks the call again. */
  isFor(operator: Pick<Operator, 'caller'>): boolean;
}

const DECLARED: Declaration[] = [];

/** What the sections declare. It is complete once `sections.ts` is loaded. */
export const declaredCalls = (): readonly Declaration[] => DECLARED;

const declare = (
  operation: string,
  permissions: readonly Permission[],
  fields: readonly string[],
): Declaration => {
  const isFor: Declaration['isFor'] = ({ caller }) =>
    permissions.length === 0 || permissions.some((one) => can(caller, one));
  const declaration = { operation, permissions, fields, isFor };
  DECLARED.push(declaration);
  return declaration;
};

interface Input {
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: object;
  [parameter: string]: unknown;
}

const requestOf = (operation: string, { query = {}, body, ...parameters }: Input): ApiCall => {
  const [method, path = ''] = operation.split(' ');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_hole, name: string) => String(parameters[name]));
  const search = queryOf(query);
  return { method: method as ApiCall['method'], path: `${filled}${search === '' ? '' : `?${search}`}`, body };
};

export const call = <Name extends OperationName, const Field extends string = never>(
  name: Name,
  permissions: readonly Permission[] = [],
  fields: readonly Field[] = [],
) => {
  type Given = InputOf<Name, Field>;
  /** The path below the API's prefix, with the query. */
  const pathOf = (input: Given): string => requestOf(name, input as Input).path;
  const send = (operator: Pick<Operator, 'api'>, input: Given): Promise<ApiAnswer> =>
    operator.api(requestOf(name, input as Input));
  /** The body, or undefined at the status `missing`. Throws 503 for any other, which does not say that nothing exists. */
  const find = async (operator: Operator, input: Given, missing = 404) => {
    const { status, body } = await send(operator, input);
    if (status === 200) return body as BodyOf<Name>;
    if (status === missing) return undefined;
    throw unavailable(`${name} answered ${status}`);
  };
  /** The body. Throws 503 for any status but 200. No answer has the status 0. */
  const read = async (operator: Operator, input: Given) => (await find(operator, input, 0)) as BodyOf<Name>;
  return { ...declare(name, permissions, fields), pathOf, send, find, read };
};

export type Call<Name extends OperationName> = ReturnType<typeof call<Name>>;

/** A call of an internal route, which is in no document. */
export const internalCall = (
  operation: string,
  permissions: readonly Permission[],
  fields: readonly string[] = [],
) => {
  const send = (operator: Operator, service: string, input: Input = {}): Promise<ApiAnswer> =>
    operator.internal(service, requestOf(operation, input));
  /** The body. Undefined if the service does not answer. */
  const find = async (operator: Operator, service: string): Promise<ApiAnswer['body'] | undefined> => {
    const answer = await send(operator, service).catch(() => undefined);
    return answer?.status === 200 ? answer.body : undefined;
  };
  return { ...declare(operation, permissions, fields), send, find };
};
