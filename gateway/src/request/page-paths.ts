/** Paths of the pages with forms, for modules that only need the paths. */
export const DELETION_PATH = '/account-deletion';
export const OPS_PATH = '/ops';
