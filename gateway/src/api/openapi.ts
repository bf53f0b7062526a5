/** The public OpenAPI document, merged from the documents of the services. */
import { etagOf } from '@fitness/shared/http/caching.ts';
import { encodedOnce } from '@fitness/shared/http/compression.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SERVICES, type Service } from '../request/routes.ts';
import { mergeDocuments, type ServiceDocument } from './openapi-merge.ts';
import { presentDocument } from './present.ts';

const DOCUMENT_PATH = '/internal/openapi.json';
const FETCH_TIMEOUT_MS = 2_000;
/** Not longer: a service may be deployed while the gateway runs. */
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
  /** Its length as JSON. */
  bytes: number;
  etag: string;
  send: ReturnType<typeof encodedOnce>;
}

/**
 * The merged document, encoded once and not for each guest. For a service that does not answer, its last document is used, and it is asked again at the next
 * call. Throws 503 when no document is known.
 */
export type ReadOpenapi = () => Promise<EncodedDocument>;

export const createReadOpenapi = ({ urls, agent, baseUrl, clock, log }: OpenapiOptions): ReadOpenapi => {
  const known = new Map<Service, ServiceDocument>();
  let cached: { document: EncodedDocument; until: number } | undefined;
  let newest: EncodedDocument | undefined;
  let reading: Promise<EncodedDocument> | undefined;

  const ask = async (service: Service): Promise<boolean> => {
    try {
      const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
      const request = { origin: urls[service], path: DOCUMENT_PATH, method: 'GET', signal } as const;
      const { statusCode, body } = await agent.request(request);
      const document = await body.json();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
      known.set(service, documentSchema.parse(document) as ServiceDocument);
      return true;
    } catch (error) {
      log.warn({ err: error, target: service }, 'a service did not describe its routes');
      return false;
    }
  };

  const read = async (): Promise<EncodedDocument> => {
    const answered = await Promise.all(SERVICES.map(ask));
    if (known.size === 0) throw unavailable('no service described its routes');
    // In the order of SERVICES, not of the answers.
    const documents = new Map(
      SERVICES.flatMap((service) => {
        const document = known.get(service);
        return document === undefined ? [] : [[service, document] as const];
      }),
    );
    const json = Buffer.from(JSON.stringify(presentDocument(mergeDocuments(documents, baseUrl))));
    const etag = etagOf(json);
    // The same document is not compressed again.
    const document = newest?.etag === etag ? newest : { bytes: json.length, etag, send: encodedOnce(json) };
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
