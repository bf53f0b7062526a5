/**
 * One MCP server per request of an authenticated caller. There is no session state, so any replica can answer the next
 * request. This module is imported on demand, because the SDK takes memory.
 */
import { withoutEmpty } from '@fitness/shared/http/validation.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  type CallToolRequest,
  type CallToolResult,
  CancelledNotificationSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool as McpTool,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type ApiRequest, mayUse, TOOLS, type Tool } from './tools.ts';

export interface McpContext {
  /** The current caller. Throws 401 if the token was revoked meanwhile. */
  caller(): Promise<UserCaller>;
  /** Sends a GET of the public API with the caller's token. Throws if the service does not respond. */
  callApi(request: ApiRequest): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The deletion blockers of the caller's account. */
  deletionBlockers(): Promise<Record<string, unknown>>;
  /** The public text of an error that is not a response of the API. */
  explain(error: unknown): string;
}

/** Batches exist only for clients of protocol revision 2025-03-26, which send few messages in a batch. */
export const MAX_BATCH = 10;

const INSTRUCTIONS =
  'Tools of a fitness platform that act for the signed-in user. All tools are read-only. Amounts are in Tooman, and times in UTC.';

const jsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): McpTool['inputSchema'] =>
  z.toJSONSchema(schema, { io }) as McpTool['inputSchema'];

/** Descriptions of the tools in the form of the protocol, built once. */
const DESCRIPTIONS: ReadonlyMap<Tool, McpTool> = new Map(
  TOOLS.map((tool) => [
    tool,
    {
      name: tool.name,
      title: tool.title,
      description: tool.description,
      inputSchema: jsonSchema(tool.input, 'input'),
      outputSchema: jsonSchema(tool.output, 'output'),
      annotations: { title: tool.title, readOnlyHint: true, openWorldHint: false },
    },
  ]),
);

const refused = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

const answered = (structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  structuredContent,
});

/** The message of the API's error, and its messages by field. */
const refusalOf = (status: number, { message, errors }: Record<string, unknown>): CallToolResult => {
  const text = typeof message === 'string' ? message : `The API returned ${status}.`;
  return refused(errors === undefined ? text : `${text} ${JSON.stringify(errors)}`);
};

/**
 * The parameters are validated by the SDK, which returns `InvalidParams` for them. For a request that does not fit its schema it would
 * return `InternalError`.
 */
const toolCallSchema = z.looseObject({ method: z.literal('tools/call'), params: z.unknown().optional() });

/** Null and an empty text are treated as absent. Throws a protocol error for wrong arguments. */
const readArguments = (tool: Tool, args: Record<string, unknown> = {}): Record<string, unknown> => {
  const sent = Object.entries(args).filter(([, value]) => value !== null);
  const input = tool.input.safeParse(withoutEmpty(Object.fromEntries(sent)));
  if (!input.success) throw new McpError(ErrorCode.InvalidParams, z.prettifyError(input.error));
  return input.data;
};

const callTool = async (
  tool: Tool,
  input: Record<string, unknown>,
  context: McpContext,
): Promise<CallToolResult> => {
  try {
    if (!mayUse(await context.caller(), tool)) {
      return refused(
        `This token does not carry a permission that ${tool.name} needs: ${tool.needs.join(', ')}.`,
      );
    }
    if (tool.request === undefined) return answered(await context.deletionBlockers());
    const { status, body } = await context.callApi(tool.request(input as never));
    return status === 200 ? answered(body) : refusalOf(status, body);
  } catch (error) {
    return refused(context.explain(error));
  }
};

const listTools = async (context: McpContext): Promise<{ tools: McpTool[] }> => {
  try {
    const caller = await context.caller();
    const usable = [...DESCRIPTIONS].filter(([tool]) => mayUse(caller, tool));
    return { tools: usable.map(([, description]) => description) };
  } catch (error) {
    throw new McpError(ErrorCode.InternalError, context.explain(error));
  }
};

/** Runs calls one after the other: a batch must not cause more load at a time than a single call. */
const createQueue = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};

const createServer = (context: McpContext): Server => {
  const inTurn = createQueue();
  const server = new Server(
    { name: 'fitness-platform', title: 'Fitness platform', version: '1' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  // Cancellation is ignored. The response to a batch waits for the responses of all its calls, and a cancelled call would
  // never get a response. Calls of other requests belong to other servers.
  server.setNotificationHandler(CancelledNotificationSchema, async () => undefined);
  server.setRequestHandler(ListToolsRequestSchema, () => inTurn(() => listTools(context)));
  server.setRequestHandler(toolCallSchema, async (request) => {
    const { name, arguments: args } = request.params as CallToolRequest['params'];
    const tool = TOOLS.find((one) => one.name === name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name}.`);
    const input = readArguments(tool, args);
    return inTurn(() => callTool(tool, input, context));
  });
  return server;
};

const refusal = (status: number, code: number, text: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message: text }, id: null }, { status });

const batchTooLong = (): Response =>
  refusal(400, ErrorCode.InvalidRequest, `A batch has at most ${MAX_BATCH} messages.`);

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

/** Has the error code of the SDK, whose own text would ask for both types. */
const notAcceptable = (): Response =>
  refusal(406, -32_000, `Not Acceptable: Client must accept ${JSON_TYPE} or ${STREAM_TYPE}`);

/** Whether an `Accept` header (RFC 9110, 12.5.1) allows `type`. The most specific range that covers it decides. */
const acceptsType = (accept: string, type: string): boolean => {
  const ranges = new Map(
    accept.split(',').map((part) => {
      const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
      return [range, !isRefused] as const;
    }),
  );
  return ranges.get(type) ?? ranges.get(`${type.split('/')[0]}/*`) ?? ranges.get('*/*') ?? false;
};

/** Answers one POST with JSON, or with a stream of one event if the client accepts nothing else. */
export const answerMcp = async (
  request: Request,
  parsedBody: unknown,
  context: McpContext,
): Promise<Response> => {
  if (Array.isArray(parsedBody) && parsedBody.length > MAX_BATCH) return batchTooLong();
  const accepted = request.headers.get('accept') || '*/*';
  const [json, stream] = [acceptsType(accepted, JSON_TYPE), acceptsType(accepted, STREAM_TYPE)];
  if (!json && !stream) return notAcceptable();
  // Either of the two types is enough for a response, but the SDK requires both.
  request.headers.set('accept', `${JSON_TYPE}, ${STREAM_TYPE}`);
  const server = createServer(context);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: json || !stream });
  try {
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody });
    // The body is read first, because closing the server ends the response.
    const body = await response.text();
    return new Response(body === '' ? null : body, { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
};
