/** Where the pages with forms are, for those that only name them. */
export const DELETION_PATH = '/account-deletion';
export const OPS_PATH = '/ops';
