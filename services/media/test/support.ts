/** A running media service with stubs for the services that it calls. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { MediaCopy__Output } from '@fitness/proto/gen/fitness/common/v1/MediaCopy.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import type { Caller, UserCaller } from '@fitness/shared/kernel/caller.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import {
  apiClient,
  caller,
  gatewayContext,
  type Send,
  standIn,
  standInService,
  testClient,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { openServiceHarness, type ServiceHarness } from '@fitness/shared/testing/service-harness.ts';
import type { MediaConfig } from '../src/config.ts';
import type { MediaRow } from '../src/domain/media.ts';
import { type MediaOverrides, startMedia } from '../src/service.ts';

/** A picture of 1 pixel. */
export const PNG: Buffer<ArrayBuffer> = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
export const MEBIBYTE = 1024 * 1024;
const PDF_SIGNATURE = Buffer.from('%PDF-1.7\n');
/** `bytes` bytes with the signature of a PDF, which is stored unchanged. */
export const pdf = (bytes: number, fill = 7): Buffer<ArrayBuffer> =>
  Buffer.concat([PDF_SIGNATURE, Buffer.alloc(bytes - PDF_SIGNATURE.length, fill)]);

/** Owns gym 1 (active), gym 2 (inactive), profile 7 and the resources of the content stub. */
export const OWNER = caller(7);
export const STRANGER = caller(8);
export const VIEWER = caller(9, ['gyms.view_all', 'users.view_all', 'posts.view_all']);
export const holder = (id: number, ...permissions: Permission[]): UserCaller => caller(id, permissions);

export const GYM = { attachable_type: MODEL.gym, attachable_id: 1 };
export const INACTIVE_GYM = { attachable_type: MODEL.gym, attachable_id: 2 };
export const POST = { attachable_type: MODEL.post, attachable_id: 1 };
export const DRAFT = { attachable_type: MODEL.post, attachable_id: 2 };
export const SERVICE = { attachable_type: MODEL.trainingService, attachable_id: 1 };
export const INACTIVE_SERVICE = { attachable_type: MODEL.trainingService, attachable_id: 2 };
export const userTarget = (id: number) => ({ attachable_type: MODEL.user, attachable_id: id });

export interface StubServices {
  /** A service that is not up returns `unavailable`. */
  up: { identity: boolean; gyms: boolean; content: boolean };
  /** Keyed by id. Other gyms do not exist. */
  gyms: Map<number, { active: boolean; ownerId: number }>;
  /** Accounts with a pending deletion, and erased accounts. */
  hidden: { pending: Set<number>; gone: Set<number> };
  /** The operator permissions of these users. An identity of an older release does not send them. */
  operators: Map<number, Permission[]>;
  /** Requests of AttachLicense. */
  attachedLicenses: unknown[];
  /** Requests of MediaCopies.Save that got a response. */
  savedCopies: MediaCopy__Output[];
  /** The method of every call. */
  calls: string[];
  /** Awaited before each response. */
  before: (method: string) => Promise<void> | void;
}

const OWNERS: Readonly<Record<string, 'gyms' | 'identity'>> = {
  [MODEL.gym]: 'gyms',
  [MODEL.user]: 'identity',
};

/** The identity stub has the users 1 to this id. */
const LAST_USER = 99;

export const startStubServices = async (): Promise<{ stubs: StubServices; server: GrpcServer }> => {
  const stubs: StubServices = {
    up: { identity: true, gyms: true, content: true },
    gyms: new Map([
      [1, { active: true, ownerId: 7 }],
      [2, { active: false, ownerId: 7 }],
    ]),
    hidden: { pending: new Set(), gone: new Set() },
    operators: new Map(),
    attachedLicenses: [],
    savedCopies: [],
    calls: [],
    before: () => undefined,
  };
  const note = async (service: keyof StubServices['up'], method: string): Promise<void> => {
    stubs.calls.push(method);
    await stubs.before(method);
    if (!stubs.up[service]) throw unavailable(`${service} is off`);
  };
  const isLive = (id: number): boolean => id <= LAST_USER && !stubs.hidden.gone.has(id);
  const attach = async (service: 'identity' | 'gyms', license: unknown) => {
    await note(service, 'AttachLicense');
    stubs.attachedLicenses.push(license);
    return { current: true };
  };
  const server = await standIn(
    standInService(grpcDefinitions.mediaCopies(), {
      Save: async (copy) => {
        await note(OWNERS[copy.target?.attachable_type ?? ''] ?? 'content', 'Save');
        stubs.savedCopies.push(copy);
        return {};
      },
    }),
    standInService(grpcDefinitions.gyms(), {
      GetGyms: async ({ ids }) => {
        await note('gyms', 'GetGyms');
        const existing = ids.flatMap((id) => {
          const gym = stubs.gyms.get(id);
          return gym === undefined ? [] : [{ id, name: 'Gym', user_id: gym.ownerId, is_active: gym.active }];
        });
        return { gyms: existing };
      },
      AttachLicense: (license) => attach('gyms', license),
    }),
    standInService(grpcDefinitions.identity(), {
      GetUsers: async ({ ids }) => {
        await note('identity', 'GetUsers');
        const users = ids.filter(isLive);
        return { users: users.map((id) => ({ id, operator_permissions: stubs.operators.get(id) ?? [] })) };
      },
      GetHiddenUsers: async ({ ids }) => {
        await note('identity', 'GetHiddenUsers');
        const { pending } = stubs.hidden;
        return {
          pending_ids: ids.filter((id) => pending.has(id)),
          gone_ids: ids.filter((id) => !isLive(id)),
        };
      },
      AttachLicense: (license) => attach('identity', license),
    }),
    standInService(grpcDefinitions.content(), {
      GetPosts: async ({ ids }) => {
        await note('content', 'GetPosts');
        const owner = { profile_type: MODEL.user, profile_id: 7, owner_user_id: 7 };
        const posts = ids.filter((id) => id <= 2);
        return {
          posts: posts.map((id) => ({ id, ...owner, is_draft: id === 2, is_public: id === 1 })),
        };
      },
      GetTrainingServices: async ({ ids }) => {
        await note('content', 'GetTrainingServices');
        const services = ids.filter((id) => id <= 2);
        return {
          training_services: services.map((id) => ({ id, user_id: 7, title: 'T', is_active: id === 1 })),
        };
      },
    }),
  );
  return { stubs, server };
};

/** A configuration with the stubs of all services at `address`. */
export const mediaConfig = (address: string, directory: string): MediaConfig => ({
  ...(testConfig('media') as ReturnType<typeof testConfig> & { LOG_LEVEL: 'silent' }),
  GYMS_GRPC_ADDRESS: address,
  IDENTITY_GRPC_ADDRESS: address,
  CONTENT_GRPC_ADDRESS: address,
  MEDIA_STORAGE: 'local',
  MEDIA_REPLICAS: 1,
  MEDIA_DIRECTORY: directory,
  MEDIA_S3_REGION: 'us-east-1',
  MEDIA_SWEEP_SECONDS: 3_600,
});

export interface Uploaded {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a response under test has whatever shape it has
  body: any;
}

const callerHeaders = (as: Caller): Record<string, string> => ({
  [CALLER_HEADER]: gatewayContext('media', as),
});

/** Clients for files of the service at `url`. */
export const fileClient = (url: string) => ({
  upload: async (
    as: Caller,
    fields: Record<string, string | number>,
    content: Buffer | undefined = PNG,
    name = 'a.png',
  ): Promise<Uploaded> => {
    const form = new FormData();
    if (content !== undefined) form.set('file', new Blob([new Uint8Array(content)]), name);
    // The fields come after the file, because their order is free.
    for (const [field, value] of Object.entries(fields)) form.set(field, String(value));
    const headers = callerHeaders(as);
    const response = await fetch(`${url}/api/v1/media`, { method: 'POST', headers, body: form });
    return { status: response.status, body: await response.json() };
  },
  /** Sends any body. */
  post: async (
    as: Caller,
    body: FormData | string | Uint8Array<ArrayBuffer>,
    contentType?: string,
  ): Promise<Uploaded> => {
    const headers = {
      ...callerHeaders(as),
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    };
    const response = await fetch(`${url}/api/v1/media`, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  },
  /** `file` is an id, or an id with a query. */
  download: async (as: Caller, file: number | string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${url}/api/v1/media/${file}`, { method, headers: { ...callerHeaders(as), ...headers } }),
});

/** Files in a directory and below it. */
export const filesIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const mediaClient = (address: string) => testClient('media', grpcDefinitions.media(), address);

export interface Harness extends ReturnType<typeof fileClient>, ServiceHarness {
  url: string;
  config: MediaConfig;
  stubs: StubServices;
  clock: ManualClock;
  send: Send;
  grpc: ReturnType<typeof mediaClient>;
  rows(filter?: Partial<MediaRow>): Promise<MediaRow[]>;
  filesOnDisk(): Promise<string[]>;
  /** Creates an active gym of `OWNER` without files, because a target may have a limited number of them. */
  newGym(): typeof GYM;
  close(): Promise<void>;
}

/** The public files of these targets, as other services receive them. */
export const filesOf = async (
  { grpc }: Pick<Harness, 'grpc'>,
  targets: { attachable_type?: string; attachable_id?: number }[],
) => {
  const { copies } = await grpc.call('GetCopies', { targets });
  return copies.flatMap(({ target, files }) => files.map((file) => ({ ...target, ...file })));
};

export const openHarness = async (
  changes: Partial<MediaConfig> = {},
  overrides: MediaOverrides = {},
  /** `monitored`: the service's database commands can be read with `watchCommands`. */
  { monitored: isMonitored = false } = {},
): Promise<Harness> => {
  const cleanup = createCleanup();
  const { stubs, server } = await startStubServices();
  cleanup.defer('stubs', () => server.close());
  const directory = await mkdtemp(join(tmpdir(), 'media-'));
  cleanup.defer('files', () => rm(directory, { recursive: true }));
  const config: MediaConfig = {
    ...mediaConfig(server.address, directory),
    AMQP_TOPOLOGY: 'provisioned',
    ...changes,
  };
  const serviceHarness = await openServiceHarness('media', config, cleanup);
  const clock = new ManualClock();
  const service = await startMedia(isMonitored ? monitored(config) : config, { clock, ...overrides });
  cleanup.defer('service', () => service.close());
  const grpc = mediaClient(service.grpcAddress);
  cleanup.defer('client of media', () => grpc.close());
  let newestGym = 10_000;
  return {
    config,
    url: service.url,
    stubs,
    clock,
    send: apiClient('media', service.url),
    ...fileClient(service.url),
    ...serviceHarness,
    grpc,
    rows: (filter = {}) =>
      serviceHarness.connection.collection<MediaRow>('media').find(filter).sort({ _id: 1 }).toArray(),
    filesOnDisk: () => filesIn(directory),
    newGym: () => {
      newestGym += 1;
      stubs.gyms.set(newestGym, { active: true, ownerId: 7 });
      return { ...GYM, attachable_id: newestGym };
    },
    close: () => cleanup.close(),
  };
};
