/**
 * Seven processes share one machine, so the limits of the heap and of its young generation are below Node's defaults.
 * docs/adr/0084 has the figures. Type stripping keeps source positions, so no source maps are needed.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--max-old-space-size=512',
];
