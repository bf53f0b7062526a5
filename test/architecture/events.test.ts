/** Each event definition lists its consumers. Their queues are declared from this list before anything is published. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import { consumersOf, consumingServices, eventPrefix } from '@fitness/shared/messaging/topology.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { expect, test } from '@jest/globals';
import { read, root, SERVICES, sources } from './support.ts';

/** A placeholder for any dependency: each of its properties and results is itself. */
const anything: unknown = new Proxy(() => undefined, { get: () => anything, apply: () => anything });

const consumed = async (service: string): Promise<string[]> => {
  const { href } = pathToFileURL(join(root, `services/${service}/src/events/consumers.ts`));
  const { createConsumers } = (await import(href)) as {
    createConsumers: (...dependencies: unknown[]) => EventConsumer[];
  };
  const consumers = createConsumers(anything, anything, anything);
  return consumers.map(({ name, event }) => `${name} of ${event.type}`).toSorted();
};

test.each([...SERVICES])(
  'the events that %s consumes list it as a consumer, and no others do',
  async (service) => {
    const listed = consumersOf(EVENTS).filter((consumer) => consumer.service === service);
    const names = listed.map(({ name, type }) => `${name} of ${type}`).toSorted();
    expectByRecipe('event', names, await consumed(service));
  },
);

test('no event lists an unknown service', () => {
  const listed = consumingServices(EVENTS);
  expect(listed.filter((name) => !SERVICES.some((service) => service === name))).toEqual([]);
});

test('the catalogue contains every event once', () => {
  const files = sources.filter((file) => file.startsWith('proto/events/'));
  const defined = files.flatMap((file) => [...read(file).matchAll(/^export const \w+ = defineEvent\(/gm)]);
  expect(EVENTS).toHaveLength(defined.length);
  expect(new Set(EVENTS.map(({ type }) => type)).size).toBe(EVENTS.length);
});

test('docs/security.md names every event by which a process that is taken over erases data of others', () => {
  const sections = read('docs/security.md').split(/^## /m);
  const table = sections.find((section) => section.startsWith('A process that is taken over')) ?? '';
  const rows = new Map([...table.matchAll(/^\| ([a-z-]+) .*$/gm)].map(([row, name = '']) => [name, row]));
  const erasing = EVENTS.filter(
    ({ type, consumers = [] }) =>
      /\.(?:deleted|cleared)$/.test(type) && consumers.some((name) => !type.startsWith(eventPrefix(name))),
  );
  expect(erasing.length).toBeGreaterThan(5);
  const missing = erasing.filter(({ type }) => {
    const producer = SERVICES.find((name) => type.startsWith(eventPrefix(name))) ?? '';
    return rows.get(producer)?.includes(`\`${type}\``) !== true;
  });
  expect(missing.map(({ type }) => type)).toEqual([]);
});
