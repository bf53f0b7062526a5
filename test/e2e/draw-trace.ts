/** Draws a trace as a picture for the documents. */
import type { CollectedSpan } from '@fitness/shared/testing/collector.ts';

const [WIDTH, LABELS, ROW, TOP] = [1_280, 620, 22, 40];
const COLORS: Record<string, string> = {
  gateway: '#4c6ef5',
  identity: '#12b886',
  wallet: '#f08c00',
  content: '#ae3ec9',
};

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Orders spans by start, each below its parent. */
const inOrder = (spans: readonly CollectedSpan[]): { span: CollectedSpan; depth: number }[] => {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: string | undefined, depth: number): { span: CollectedSpan; depth: number }[] =>
    spans
      .filter(({ parentSpanId }) =>
        parent === undefined ? !ids.has(parentSpanId ?? '') : parentSpanId === parent,
      )
      .toSorted((a, b) => a.startMs - b.startMs)
      .flatMap((span) => [{ span, depth }, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
};

export const drawTrace = (spans: readonly CollectedSpan[]): string => {
  const rows = inOrder(spans);
  const start = Math.min(...spans.map(({ startMs }) => startMs));
  const lengthMs = Math.max(...spans.map(({ endMs }) => endMs)) - start;
  const x = (ms: number): number => LABELS + ((ms - start) / lengthMs) * (WIDTH - LABELS - 90);
  const lines = rows.map(({ span, depth }, index) => {
    const { service, name, startMs, endMs } = span;
    const y = TOP + index * ROW;
    const width = Math.max(2, x(endMs) - x(startMs));
    const label = `${service} · ${name.replace(/e2e-[0-9a-f]+\./, '')}`;
    return `<text x="${12 + depth * 14}" y="${y + 14}">${escaped(label)}</text>
<rect x="${x(startMs).toFixed(1)}" y="${y + 4}" width="${width.toFixed(1)}" height="12" rx="2" fill="${COLORS[service] ?? '#868e96'}"/>
<text x="${(x(endMs) + 6).toFixed(1)}" y="${y + 14}" fill="#868e96">${(endMs - startMs).toFixed(1)} ms</text>`;
  });
  const height = TOP + rows.length * ROW + 16;
  const title = `${rows.length} spans in ${lengthMs.toFixed(0)} ms`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="12" y="22" font-weight="bold">${title}</text>
${lines.join('\n')}
</svg>
`;
};
