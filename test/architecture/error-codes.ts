/** Finds the codes and texts of errors that the sources throw. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import { errorCodesOf, errorSchemasOf } from '@fitness/shared/http/openapi.ts';
import { type ErrorKind, HTTP_STATUS } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { type Node, parse, productSources, read, type Tree } from './support.ts';

export interface ErrorCode {
  code: string;
  status: number;
  /** Catalogue key of the error's text. */
  key: string;
  /** Whether responses contain the code. Otherwise they contain only the text. */
  isSent: boolean;
  /** Operations that declare the code, e.g. `POST /payments/boost`. */
  operations: string[];
}

/** An error as it is thrown. Its route determines what is sent. */
type ThrownError = Pick<ErrorCode, 'code' | 'status' | 'key'>;

const KIND_OF_CALL: Readonly<Record<string, ErrorKind>> = {
  badRequest: 'bad_request',
  conflict: 'conflict',
  internalError: 'internal',
  notFound: 'not_found',
};

/** Files without an error and without a constant that is a text are not parsed. */
const MAY_THROW =
  /\b(?:badRequest|conflict|internalError|notFound|clientError|AppError)\b|\bconst \w[^=\n]*=\s*'/;

type Strings = ReadonlyMap<string, string>;

/** Constants declared as `const NAME = 'text'` or `export const NAME = 'text'`. */
const constantsOf = ({ nodes }: Tree): [string, string][] =>
  nodes.flatMap((node): [string, string][] => {
    if (node.type !== 'VariableDeclarator') return [];
    const init = node.init as Node | null;
    return init?.type === 'StringLiteral' ? [[String((node.id as Node).value), String(init.value)]] : [];
  });

const textOf = (node: Node | undefined, constants: Strings): string | undefined => {
  if (node?.type === 'StringLiteral') return String(node.value);
  return node?.type === 'Identifier' ? constants.get(String(node.value)) : undefined;
};

const declarationOf = (name: unknown, { nodes }: Tree): Node | undefined =>
  nodes.find(({ type, id, init }) => type === 'VariableDeclarator' && (id as Node).value === name && init)
    ?.init as Node | undefined;

/** The possible values of a code: `isPremium ? 'one' : 'other'` has two. */
const codesOf = (node: Node | undefined, tree: Tree, constants: Strings): string[] => {
  if (node?.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((part) => codesOf(part as Node, tree, constants));
  const text = textOf(node, constants);
  if (text !== undefined) return [text];
  return node?.type === 'Identifier' ? codesOf(declarationOf(node.value, tree), tree, constants) : [];
};

const argumentsOf = (node: Node): Node[] =>
  ((node.arguments ?? []) as { expression: Node }[]).map(({ expression }) => expression);

const calleeOf = (node: Node): string =>
  (node.callee as Node).type === 'Identifier' ? String((node.callee as Node).value) : '';

/** The key in `message('key')`, directly or in a constant of the file. */
const keyOf = (node: Node | undefined, tree: Tree, constants: Strings): string | undefined => {
  if (node?.type === 'CallExpression' && calleeOf(node) === 'message')
    return textOf(argumentsOf(node)[0], constants);
  if (node?.type !== 'Identifier') return undefined;
  const declared = declarationOf(node.value, tree);
  return declared === undefined ? undefined : keyOf(declared, tree, constants);
};

const fromCall = (node: Node, tree: Tree, constants: Strings): ThrownError[] => {
  // For requests refused by Fastify, the code is the kind, and the key is the second argument.
  if (calleeOf(node) === 'clientError') {
    const [code, key] = argumentsOf(node).map((argument) => textOf(argument, constants));
    if (code === undefined || key === undefined) return [];
    return [{ code, status: HTTP_STATUS[code as ErrorKind], key }];
  }
  const kind = KIND_OF_CALL[calleeOf(node)];
  if (kind === undefined) return [];
  const [first, second] = argumentsOf(node);
  return codesOf(first, tree, constants).map((code) => {
    // In `badRequest(code, message(code))`, the code is the key of the text.
    const key = kind === 'not_found' ? 'error.not_found' : (keyOf(second, tree, constants) ?? code);
    return { code, status: HTTP_STATUS[kind], key };
  });
};

const fromConstructor = (node: Node, tree: Tree, constants: Strings): ThrownError | undefined => {
  const [options] = argumentsOf(node);
  if (calleeOf(node) !== 'AppError' || options?.type !== 'ObjectExpression') return undefined;
  const properties = options.properties as Node[];
  const field = (name: string): Node | undefined =>
    properties.find(({ key }) => (key as Node | undefined)?.value === name)?.value as Node | undefined;
  const kind = textOf(field('kind'), constants) as ErrorKind | undefined;
  const code = textOf(field('code'), constants);
  const key = keyOf(field('message'), tree, constants);
  if (kind === undefined || code === undefined || key === undefined) return undefined;
  return { code, status: HTTP_STATUS[kind], key };
};

const byCode = (a: ThrownError, b: ThrownError): number =>
  a.code === b.code ? (a.key < b.key ? -1 : 1) : a.code < b.code ? -1 : 1;

const operationOf = ({ method, path }: Route): string => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;

const sends = (codes: Readonly<Record<number, readonly string[]>>, { status, code }: ThrownError): boolean =>
  codes[status]?.includes(code) === true;

/** The statuses whose body has its text in `error`, by operation. */
export const findErrorBodies = (routes: readonly Route[]): Record<string, number[]> => {
  const hasError = (schema: unknown): boolean =>
    schema instanceof z.ZodObject && Object.hasOwn(schema.shape, 'error');
  const bodies = routes.map((route): [string, number[]] => {
    const statuses = Object.entries(errorSchemasOf(route))
      .filter(([, schema]) => hasError(schema))
      .map(([status]) => Number(status));
    return [operationOf(route), statuses];
  });
  return Object.fromEntries(bodies.filter(([, statuses]) => statuses.length > 0).sort());
};

/** Returns each combination of code, status and text once, sorted by code. */
export const findErrorCodes = (routes: readonly Route[]): ErrorCode[] => {
  const trees = productSources
    .filter((file) => /^(?:packages|services|gateway)\//.test(file) && MAY_THROW.test(read(file)))
    .map((file) => parse(file));
  const constants = new Map(trees.flatMap(constantsOf));
  const thrown = trees.flatMap((tree) =>
    tree.nodes.flatMap((node) => {
      if (node.type === 'CallExpression') return fromCall(node, tree, constants);
      if (node.type === 'NewExpression') return fromConstructor(node, tree, constants) ?? [];
      return [];
    }),
  );
  const unique = new Map(thrown.map((error) => [JSON.stringify(error), error]));
  return [...unique.values()].sort(byCode).map((error) => ({
    ...error,
    isSent: routes.some((route) => sends(errorCodesOf(route), error)),
    operations: routes
      .filter(({ errorCodes = {} }) => sends(errorCodes, error))
      .map(operationOf)
      .sort(),
  }));
};
