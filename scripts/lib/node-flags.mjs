/**
 * Seven processes share one machine, so that the room for young objects and the limit of the heap are smaller than Node's
 * defaults; docs/adr/0084 has the figures. Positions survive the stripping of types, so that no source maps are needed.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--max-old-space-size=512',
];

/** For jest: the tests are ES modules. */
export const jestFlags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
