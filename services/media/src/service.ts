/** Composition root of media. */
import multipart from '@fastify/multipart';
import { isBodyMissing } from '@fitness/shared/http/connections.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { openStorage } from './clients/open-storage.ts';
import type { Storage } from './clients/storage.ts';
import type { MediaConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createMediaService } from './grpc/media.ts';
import { DOWNLOAD_LIMITS, type DownloadLimits } from './http/download-limit.ts';
import { assertMultipart } from './http/read-upload.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createUseCases } from './use-cases.ts';

/** Longer than the gateway's timeouts, and far shorter than the age at which the sweeper deletes a file without a row. */
export const UPLOAD_DEADLINE_MS = 15 * MINUTE_MS;

/** Replacements for tests. */
export interface MediaOverrides extends Overrides {
  storage?: Storage;
  uploadDeadlineMs?: number;
  downloads?: DownloadLimits;
}

export const startMedia = async (
  config: MediaConfig,
  overrides: MediaOverrides = {},
): Promise<RunningService> => {
  const runtime = await createServiceRuntime('media', config, overrides);
  const storage = overrides.storage ?? (await openStorage(config, runtime.metrics));
  const useCases = createUseCases(createDependencies(runtime, config, storage));
  const { uploadDeadlineMs = UPLOAD_DEADLINE_MS, downloads = DOWNLOAD_LIMITS } = overrides;
  const baseUrl = config.PUBLIC_BASE_URL;
  return runtime.serve({
    prepareHttp: async (app) => {
      // The service refuses a file that is too large with 422 under `file`. The parser would return 413.
      await app.register(multipart, { throwFileSizeLimit: false });
      app.addHook('preParsing', async (request) => {
        const { routeOptions, headers } = request;
        if (routeOptions.config.route?.rawBody !== true || isBodyMissing(request)) return;
        assertMultipart(headers['content-type']);
      });
    },
    routes: createRoutes(useCases, { baseUrl, uploadDeadlineMs, downloads }),
    grpc: [createMediaService(useCases)],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config.MEDIA_SWEEP_SECONDS),
  });
};
