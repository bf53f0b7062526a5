/**
 * One MCP server for one request: who calls is known by then, so nothing of him has to be remembered in between, and
 * any replica can answer the next request. Loaded when it is first needed.
 */
import { can, type UserCaller } from '@fitness/shared/caller.ts';
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
import { type ApiRequest, TOOLS, type Tool } from './tools.ts';

export interface McpContext {
  caller: UserCaller;
  /** A GET of the public API with the caller's own token; throws what is no answer of a service. */
  callApi(request: ApiRequest): Promise<{ status: number; body: Record<string, unknown> }>;
  /** What stands in the way of deleting the caller's account. */
  deletionBlockers(): Promise<Record<string, unknown>>;
  /** The public text of an error that is not the API's. */
  explain(error: unknown): string;
}

const INSTRUCTIONS =
  'Tools of a fitness platform, in the name of the signed-in user. All of them only read. Money is in Tooman; times are UTC.';

const jsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): McpTool['inputSchema'] =>
  z.toJSONSchema(schema, { io }) as McpTool['inputSchema'];

/** As the protocol describes them; made once. */
const DESCRIBED: ReadonlyMap<Tool, McpTool> = new Map(
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

const mayUse = (caller: UserCaller, { needs }: Tool): boolean =>
  needs.length === 0 || needs.some((permission) => can(caller, permission));

const refused = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

const answered = (structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  structuredContent,
});

/** The message of the API, and what it says about single fields. */
const refusalOf = (status: number, { message, errors }: Record<string, unknown>): CallToolResult => {
  const text = typeof message === 'string' ? message : `The API answered ${status}.`;
  return refused(errors === undefined ? text : `${text} ${JSON.stringify(errors)}`);
};

const callTool = async (tool: Tool, given: unknown, context: McpContext): Promise<CallToolResult> => {
  const input = tool.input.safeParse(given ?? {});
  if (!input.success) return refused(z.prettifyError(input.error));
  if (!mayUse(context.caller, tool)) {
    return refused(
      `This token does not carry a permission that ${tool.name} needs: ${tool.needs.join(', ')}.`,
    );
  }
  try {
    if (tool.request === undefined) return answered(await context.deletionBlockers());
    const { status, body } = await context.callApi(tool.request(input.data as never));
    return status === 200 ? answered(body) : refusalOf(status, body);
  } catch (error) {
    return refused(context.explain(error));
  }
};

const createServer = (context: McpContext): Server => {
  const server = new Server(
    { name: 'fitness-platform', title: 'Fitness platform', version: '1' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  // The answer of a message holds that of each of its calls, and is waited for until it does: a call that the same
  // message takes back would hold it for ever. A call of another message is out of reach anyway.
  server.setNotificationHandler(CancelledNotificationSchema, async () => undefined);
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [...DESCRIBED].filter(([tool]) => mayUse(context.caller, tool)).map(([, described]) => described),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = TOOLS.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}.`);
    return callTool(tool, params.arguments, context);
  });
  return server;
};

/** Answers one POST; its answer is JSON, as no tool has anything to say before its end. */
export const answerMcp = async (
  request: Request,
  parsedBody: unknown,
  context: McpContext,
): Promise<Response> => {
  const server = createServer(context);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody });
    // Read before the server is closed, which would cut it off.
    const body = await response.text();
    return new Response(body === '' ? null : body, { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
};
