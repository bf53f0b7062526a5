/**
 * The room for young objects and the limit of the heap are smaller than Node's defaults, which are those of a machine
 * that one process has for itself. `npm run bench -- memory` on 2 cores and 24 GiB, the seven processes together:
 *
 *                                  at rest     under load    CPU per list
 *   Node's defaults                1,202 MiB   1,686 MiB     19.0 ms
 *   --max-old-space-size=512       1,175 MiB   1,510 MiB     15.4 ms
 *   both flags                     1,017 MiB   1,136 MiB     17.2 ms
 *
 * Time differs by more than this from run to run. Positions survive the stripping of types, so that no source maps are
 * needed.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
  '--max-old-space-size=512',
];
