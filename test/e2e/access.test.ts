import { describe } from '@jest/globals';
import { EACH_PERMISSION } from './access-callers.ts';
import { checkAccess } from './access-checks.ts';

describe('docs/access.md, for tokens that are restricted to each permission', () =>
  checkAccess(EACH_PERMISSION));
