import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { RPC_CALLERS } from '@fitness/shared/grpc/callers.ts';
import { PROCESSES, type ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { markdownTable, read, SERVICES } from '../support.ts';

const DOCUMENT = 'docs/process-access.md';

/** `fitness.store_billing.v1.StoreBilling` → `store-billing`. */
const ownPackage = (service: string): string => (service.split('.')[1] ?? '').replaceAll('_', '-');

const serversOf = (service: string): readonly string[] => {
  if (service === 'fitness.common.v1.AuditLog') return SERVICES;
  if (service === 'fitness.common.v1.Blockers')
    return SERVICES.filter((name) => BLOCKERS.some(({ owner }) => owner === name));
  if (service === 'fitness.common.v1.MediaCopies') return ['identity', 'gyms', 'content'];
  return SERVICES.filter((name) => name === ownPackage(service));
};

const row = (server: string, what: string, callers: readonly ProcessName[]): string[] => [
  server,
  `\`${what}\``,
  ...PROCESSES.map((process) => (callers.includes(process) ? 'yes' : 'no')),
];

export const rows = (): string[][] => {
  const rpcs = Object.entries(RPC_CALLERS).flatMap(([service, declared]) =>
    serversOf(service).flatMap((server) =>
      Object.entries<readonly ProcessName[]>(declared).map(([name, callers]) =>
        row(server, `${service.split('.').at(-1)}.${name}`, callers),
      ),
    ),
  );
  return SERVICES.flatMap((service) => [
    row(service, 'HTTP', ['gateway']),
    ...rpcs.filter(([server]) => server === service),
  ]);
};

/** The declared callers of each RPC. */
export const generate = (): Record<string, string> => {
  const text = read(DOCUMENT);
  const introduction = text.slice(0, text.indexOf('| served by'));
  return { [DOCUMENT]: introduction + markdownTable([['served by', 'call', ...PROCESSES], ...rows()]) };
};
