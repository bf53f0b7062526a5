/** Commands that are asked and answered over RabbitMQ, with a deadline. */
export { createRpcClient, type RpcClient, type RpcClientOptions } from './rpc-client.ts';
export {
  commandQueue,
  type RpcFailureCode,
  RpcNotSentError,
  RpcRemoteError,
  RpcTimeoutError,
} from './rpc-protocol.ts';
export { type RpcContext, type RpcServer, type ServeRpcOptions, serveRpc } from './rpc-server.ts';
