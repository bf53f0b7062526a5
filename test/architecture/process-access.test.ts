/** The callers of RPCs are declared. docs/process-access.md is generated; test/e2e/process-access.test.ts tries each pair. */
import { RPC_CALLERS } from '@fitness/shared/grpc/callers.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { PROCESSES, type ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { rows } from './generated/process-access.ts';
import { importsOf, productSources, read } from './support.ts';

test('every defined RPC is in the table', () => {
  const defined = Object.values(grpcDefinitions).flatMap((load) =>
    Object.values(load() as unknown as ServiceDefinition).map(({ path }) => path),
  );
  const declared = Object.entries(RPC_CALLERS).flatMap(([service, rpcs]) =>
    Object.keys(rpcs).map((name) => `/${service}/${name}`),
  );
  expect(defined.sort()).toEqual(declared.sort());
  const listed = new Set(rows().map(([, call]) => call));
  expect(listed.size).toBe(declared.length + 1);
});

/** `<process> <RPC>` for each call in the files. */
const pairsIn = (process: ProcessName, files: readonly string[]): string[] =>
  files.flatMap((file) =>
    [...read(file).matchAll(/\.call\(\s*'([A-Z]\w+)'/g)].map(([, rpc]) => `${process} ${rpc}`),
  );

test('a process is declared as a caller of exactly the RPCs that its sources call', () => {
  const declared = new Set(
    Object.values<Record<string, readonly ProcessName[]>>(RPC_CALLERS).flatMap((rpcs) =>
      Object.entries(rpcs).flatMap(([rpc, callers]) => callers.map((caller) => `${caller} ${rpc}`)),
    ),
  );
  const own: string[] = [];
  const shared: string[] = [];
  for (const process of PROCESSES) {
    const directory = process === 'gateway' ? 'gateway/src/' : `services/${process}/src/`;
    const files = productSources.filter((file) => file.startsWith(directory));
    own.push(...pairsIn(process, files));
    // Several processes share these readers, but not each process uses each call in them.
    const readers = new Set(
      files.flatMap(importsOf).filter((file) => file.startsWith('packages/contracts/')),
    );
    shared.push(...pairsIn(process, [...readers]));
  }
  expect(own.length).toBeGreaterThan(10);
  expectByRecipe(
    'rpc',
    own.filter((pair) => !declared.has(pair)),
  );
  expectByRecipe(
    'rpc',
    [...declared].filter((pair) => !own.includes(pair) && !shared.includes(pair)),
  );
});
