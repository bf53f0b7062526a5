/**
 * The usual limits are those of a machine that one process has for itself: with these each of the processes rests
 * at about 120 MiB instead of 160. Half the usual room for young objects costs no speed here; an eighth cost a sixth of
 * it. With `--expose-gc` a process gives back what it took for a rush (packages/shared/src/memory.ts). Positions survive
 * the stripping of types, so that no source maps are needed.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--expose-gc',
  '--max-old-space-size=512',
];
