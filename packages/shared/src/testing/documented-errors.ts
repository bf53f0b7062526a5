/** Checks that every error that a service test gets is documented by the service for its operation. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ERROR_CODES } from '../http/openapi.ts';
import type { ProcessName } from '../kernel/process-name.ts';

type Schema = Record<string, unknown>;

interface DocumentedResponse {
  [ERROR_CODES]?: string[];
  content?: Record<string, { schema: Schema }>;
}

interface ServiceDocument {
  paths: Record<string, Record<string, { responses: Record<string, DocumentedResponse> }>>;
  components?: { schemas?: Record<string, Schema> };
}

interface ErrorAnswer {
  method: string;
  /** Path of the operation, e.g. `/api/v1/users/{id}`. */
  path: string;
  status: number;
  body: Record<string, unknown>;
}

interface ServiceErrors {
  document: ServiceDocument;
  /** Validators by the name of the response. */
  validators: Map<string, ValidateFunction>;
}

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

/** The documents by address. */
const instances = new Map<string, Promise<ServiceErrors>>();
/** The documents by name, for instances with the same routes: reading a document costs as much as many requests. */
const services = new Map<ProcessName, ServiceErrors>();

const read = async (baseUrl: string): Promise<ServiceErrors> => {
  const response = await fetch(`${baseUrl}/internal/openapi.json`);
  return { document: (await response.json()) as ServiceDocument, validators: new Map() };
};

const operationOf = ({ document }: ServiceErrors, { method, path }: ErrorAnswer) =>
  document.paths[path]?.[method.toLowerCase()];

/** From the document of another instance if it has the operation. Tests also start services with routes of their own. */
const errorsOf = async (
  service: ProcessName,
  baseUrl: string,
  answer: ErrorAnswer,
): Promise<ServiceErrors> => {
  const known = services.get(service);
  if (known !== undefined && operationOf(known, answer) !== undefined) return known;
  const reading = instances.get(baseUrl) ?? read(baseUrl);
  instances.set(baseUrl, reading);
  const own = await reading;
  services.set(service, own);
  return own;
};

/** The differences between the body and what a client decodes from it by the schema. */
const differences = (
  { document, validators }: ServiceErrors,
  name: string,
  schema: Schema,
  body: Record<string, unknown>,
): string[] => {
  const { components } = document;
  const validate = validators.get(name) ?? ajv.compile({ ...schema, components });
  validators.set(name, validate);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};

/** Throws for a `code` that the operation does not declare with this status, and for a body that does not match its schema. */
export const assertErrorIsDocumented = async (
  service: ProcessName,
  baseUrl: string,
  answer: ErrorAnswer,
): Promise<void> => {
  const { method, path, status, body } = answer;
  const errors = await errorsOf(service, baseUrl, answer);
  const operation = operationOf(errors, answer);
  if (operation === undefined) return;
  const name = `${method} ${path} ${status}`;
  const response = operation.responses[status];
  if (typeof body.code === 'string' && response?.[ERROR_CODES]?.includes(body.code) !== true)
    throw new Error(`${name} has the code ${body.code}, which its route does not declare`);
  const schema = response?.content?.['application/json']?.schema;
  const wrong = schema === undefined ? [] : differences(errors, name, schema, body);
  if (wrong.length > 0)
    throw new Error(`${name} is not documented: ${wrong.join(', ')}: ${JSON.stringify(body)}`);
};
