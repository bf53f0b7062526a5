/**
 * One MCP server per request, for an authenticated caller: there is no session state, and any replica can answer the
 * next request. Imported on demand: the SDK takes memory.
 */
import { withoutEmpty } from '@fitness/shared/http/validation.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
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
  /** Throws 401 when the token was revoked meanwhile. */
  caller(): Promise<UserCaller>;
  /** A GET of the public API with the caller's token; throws when no service answers. */
  callApi(request: ApiRequest): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The blockers of the deletion of the caller's account. */
  deletionBlockers(): Promise<Record<string, unknown>>;
  /** The public text of an error that the API did not answer. */
  explain(error: unknown): string;
}

/** Batches exist for clients of the protocol's revision 2025-03-26, which need few messages in one. */
export const MAX_BATCH = 10;

const INSTRUCTIONS =
  'Tools of a fitness platform, which act for the signed-in user. All of them only read. Amounts are in Tooman, times in UTC.';

const jsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): McpTool['inputSchema'] =>
  z.toJSONSchema(schema, { io }) as McpTool['inputSchema'];

/** Descriptions of the tools in the protocol's form, built once. */
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

/** The message of the API's answer, and its errors by field. */
const refusalOf = (status: number, { message, errors }: Record<string, unknown>): CallToolResult => {
  const text = typeof message === 'string' ? message : `The API answered ${status}.`;
  return refused(errors === undefined ? text : `${text} ${JSON.stringify(errors)}`);
};

const callTool = async (
  tool: Tool,
  given: object | undefined,
  context: McpContext,
): Promise<CallToolResult> => {
  // As query parameters, which they become.
  const input = tool.input.safeParse(withoutEmpty(given ?? {}));
  if (!input.success) return refused(z.prettifyError(input.error));
  try {
    if (!mayUse(await context.caller(), tool)) {
      return refused(
        `This token does not carry a permission that ${tool.name} needs: ${tool.needs.join(', ')}.`,
      );
    }
    if (tool.request === undefined) return answered(await context.deletionBlockers());
    const { status, body } = await context.callApi(tool.request(input.data as never));
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

/** One after the other: a batch must not be more load at one time than a single call. */
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
  // Cancellation is ignored. The response to a batch waits for the answer of each call in it: a call that the same
  // batch cancels would never be answered. Calls of other requests belong to other servers.
  server.setNotificationHandler(CancelledNotificationSchema, async () => undefined);
  server.setRequestHandler(ListToolsRequestSchema, () => inTurn(() => listTools(context)));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = TOOLS.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}.`);
    return inTurn(() => callTool(tool, params.arguments, context));
  });
  return server;
};

const refusal = (status: number, code: number, text: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message: text }, id: null }, { status });

const batchTooLong = (): Response =>
  refusal(400, ErrorCode.InvalidRequest, `A batch has at most ${MAX_BATCH} messages.`);

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

/** With the code of the SDK, whose text asks for both types. */
const notAcceptable = (): Response =>
  refusal(406, -32_000, `Not Acceptable: Client must accept ${JSON_TYPE} or ${STREAM_TYPE}`);

/** Whether an `Accept` (RFC 9110, 12.5.1) admits `type`: the most specific range that covers it decides. */
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

/** Answers one POST with JSON; as a stream of one event for a client that accepts nothing else. */
export const answerMcp = async (
  request: Request,
  parsedBody: unknown,
  context: McpContext,
): Promise<Response> => {
  if (Array.isArray(parsedBody) && parsedBody.length > MAX_BATCH) return batchTooLong();
  const accepted = request.headers.get('accept') || '*/*';
  const [json, stream] = [acceptsType(accepted, JSON_TYPE), acceptsType(accepted, STREAM_TYPE)];
  if (!json && !stream) return notAcceptable();
  // One of the two types is enough for an answer. The SDK asks for both, by their names.
  request.headers.set('accept', `${JSON_TYPE}, ${STREAM_TYPE}`);
  const server = createServer(context);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: json || !stream });
  try {
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody });
    // Read first: closing the server ends the response.
    const body = await response.text();
    return new Response(body === '' ? null : body, { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
};
