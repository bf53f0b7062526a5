/** The public OpenAPI document, merged from the documents of the services. */
import { etagOf } from '@fitness/shared/http/caching.ts';
import { encodedOnce } from '@fitness/shared/http/compression.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SERVICES, type Service } from '../request/routes.ts';
import { mergeDocuments, type ServiceDocument } from './openapi-merge.ts';
import { presentDocument } from './present.ts';

const DOCUMENT_PATH = '/internal/openapi.json';
const FETCH_TIMEOUT_MS = 2_000;
/** Lifetime of a complete document. It is short, because a service may be deployed while the gateway runs. */
const COMPLETE_FOR_MS = 60_000;

const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({}))).optional(),
  components: z.object({ schemas: z.record(z.string(), z.json()).optional() }).optional(),
});

export interface OpenapiOptions {
  urls: Record<Service, string>;
  agent: Dispatcher;
  baseUrl: string;
  clock: Clock;
  log: Logger;
}

interface EncodedDocument {
  /** Length of the JSON in bytes. */
  bytes: number;
  etag: string;
  send: ReturnType<typeof encodedOnce>;
}

/**
 * The merged document, encoded once for all clients. If a service does not respond, its last document is used, and the next
 * call requests it again. Throws 503 if no service has responded yet.
 */
export type ReadOpenapi = () => Promise<EncodedDocument>;

export const createReadOpenapi = ({ urls, agent, baseUrl, clock, log }: OpenapiOptions): ReadOpenapi => {
  const lastDocuments = new Map<Service, ServiceDocument>();
  let cached: { document: EncodedDocument; until: number } | undefined;
  let newest: EncodedDocument | undefined;
  let reading: Promise<EncodedDocument> | undefined;

  const update = async (service: Service): Promise<boolean> => {
    try {
      const signal = AbortSignal.timeout(scaledDeadline(FETCH_TIMEOUT_MS));
      const request = { origin: urls[service], path: DOCUMENT_PATH, method: 'GET', signal } as const;
      const { statusCode, body } = await agent.request(request);
      const document = await body.json();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
      lastDocuments.set(service, documentSchema.parse(document) as ServiceDocument);
      return true;
    } catch (error) {
      log.warn({ err: error, target: service }, 'a service did not describe its routes');
      return false;
    }
  };

  const encode = (document: unknown): EncodedDocument => {
    const json = Buffer.from(JSON.stringify(document));
    const etag = etagOf(json);
    // The same document is not compressed again.
    return newest?.etag === etag ? newest : { bytes: json.length, etag, send: encodedOnce(json) };
  };

  const read = async (): Promise<EncodedDocument> => {
    const answered = await Promise.all(SERVICES.map(update));
    if (lastDocuments.size === 0) throw unavailable('no service described its routes');
    // The order is that of SERVICES, not of the responses.
    const documents = new Map(
      SERVICES.flatMap((service) => {
        const document = lastDocuments.get(service);
        return document === undefined ? [] : [[service, document] as const];
      }),
    );
    const document = encode(presentDocument(mergeDocuments(documents, baseUrl)));
    newest = document;
    cached = answered.every(Boolean)
      ? { document, until: clock.now().getTime() + COMPLETE_FOR_MS }
      : undefined;
    return document;
  };

  return async () => {
    if (cached !== undefined && clock.now().getTime() < cached.until) return cached.document;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
};
