import { afterAll, describe } from '@jest/globals';
import { EACH_STAFF } from './access-callers.ts';
import { checkAccess } from './access-checks.ts';
import { stack } from './support.ts';

describe('docs/access.md, where staff needs a second factor', () => {
  checkAccess(EACH_STAFF, () => stack().restart('identity', { STAFF_SECOND_FACTOR: 'required' }));
  afterAll(() => stack().restart('identity'));
});
