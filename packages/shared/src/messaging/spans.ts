/** The spans of messages: https://opentelemetry.io/docs/specs/semconv/messaging/ */
import type { SpanOptions } from '../kernel/trace.ts';

/** `name`: the type of an event, or the queue of a command. */
export const messageSpan = (
  kind: SpanOptions['kind'],
  operation: 'create' | 'send' | 'process',
  name: string,
  parent: string | undefined,
): [name: string, options: SpanOptions] => {
  const attributes = {
    'messaging.system': 'rabbitmq',
    'messaging.operation.type': operation,
    'messaging.operation.name': operation,
    'messaging.destination.name': name,
  };
  return [`${operation} ${name}`, { kind, parent, attributes }];
};
