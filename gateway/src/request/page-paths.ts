/** For modules that need only the path of the page. */
export const DELETION_PATH = '/account-deletion';
