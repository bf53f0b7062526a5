/** The processes of the product, without the sandbox. */
export const PROCESSES = [
  'gateway',
  'identity',
  'wallet',
  'gyms',
  'content',
  'media',
  'store-billing',
] as const;
export type ProcessName = (typeof PROCESSES)[number];
