/** Commands that are asked and answered over RabbitMQ, with a deadline. */
export { createRpcClient, type RpcClient } from './rpc-client.ts';
export { commandQueue } from './rpc-protocol.ts';
export { type RpcContext, type RpcServer, serveRpc } from './rpc-server.ts';
