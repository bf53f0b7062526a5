import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { type Sandbox, startSandbox } from '../src/service.ts';

/** How late a slow response is. */
export const SLOW_MS = 150;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read responses of many shapes
  json: any;
}

export interface TestSandbox extends Sandbox {
  clock: ManualClock;
  /** `body`: an object is sent as JSON, URLSearchParams as a form. Redirects are not followed. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
}

interface CallOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function startTestSandbox(slowMs = SLOW_MS): Promise<TestSandbox> {
  const clock = new ManualClock();
  const sandbox = await startSandbox({ clock, slowMs });
  return { ...sandbox, clock, call: (...args) => call(sandbox.url, ...args) };
}

async function call(
  origin: string,
  method: string,
  path: string,
  body?: unknown,
  { headers = {}, signal }: CallOptions = {},
): Promise<Answer> {
  const isForm = body instanceof URLSearchParams;
  const response = await fetch(`${origin}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && !isForm ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parseOrNull(text) };
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export const form = (fields: Record<string, string>): URLSearchParams => new URLSearchParams(fields);

/** Milliseconds that a piece of work took, on the monotonic clock. */
export async function timed<T>(work: Promise<T>): Promise<{ result: T; tookMs: number }> {
  const startedAt = performance.now();
  const result = await work;
  return { result, tookMs: performance.now() - startedAt };
}

export const pause = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));
