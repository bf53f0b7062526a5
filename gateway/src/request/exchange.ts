/**
 * One exchange with a service: sends the request, and streams the response to the client. It uses only undici's
 * `dispatch`: `request` adds streams, signals and async contexts that cost more than the exchange.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { releaseMemory } from '@fitness/shared/kernel/release-memory.ts';
import type { FastifyReply } from 'fastify';
import type { Dispatcher } from 'undici';
import { clientGone } from './body.ts';

interface ExchangeOptions {
  reply: FastifyReply;
  agent: Dispatcher;
  request: Dispatcher.DispatchOptions;
  /** Called once, before anything is written to the client. Returns the headers for the client. */
  beginAnswer(status: number, headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** Called if there is no response. Nothing was written to the client. */
  onLost(error: Error & { code?: string }): void;
}

/** Starts an exchange. If the client disconnects, the request to the service is aborted. */
export const startExchange = (options: ExchangeOptions): void => new Exchange(options).start();

class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #response: ServerResponse;
  #controller: Dispatcher.DispatchController | undefined;
  #isDraining = false;
  /** The length that the service has declared; undefined once a piece has arrived. */
  #wholeLength: string | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#response = options.reply.raw;
  }

  start(): void {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) this.#controller?.abort(clientGone());
    });
    this.#options.agent.dispatch(this.#options.request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The client disconnected while the request waited for a connection.
    if (this.#response.destroyed) controller.abort(clientGone());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // Informational responses such as 103 are for the gateway.
    if (status < 200) return;
    const answer = this.#options.beginAnswer(status, headers);
    this.#wholeLength = headers['content-length'];
    this.#options.reply.hijack();
    this.#response.writeHead(status, answer);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const isWhole = this.#wholeLength === String(chunk.length);
    this.#wholeLength = undefined;
    // Head and body are sent in one system call.
    if (isWhole) return void this.#response.end(chunk);
    if (this.#write(chunk)) return;
    controller.pause();
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#response.on('drain', () => controller.resume());
  }

  #write(chunk: Buffer): boolean {
    return this.#response.write(chunk, (error) => {
      // After a failure, the system may still use the chunk.
      if (error == null) releaseMemory(chunk);
    });
  }

  onResponseEnd(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }

  onResponseError(_controller: unknown, error: Error & { code?: string }): void {
    // The client must not mistake a part for the whole response.
    if (this.#response.headersSent) this.#response.destroy();
    else this.#options.onLost(error);
  }
}
