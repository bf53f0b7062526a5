import { describe } from '@jest/globals';
import { EACH_KIND } from './access-callers.ts';
import { checkAccess } from './access-checks.ts';

describe('docs/access.md, for each kind of token', () => checkAccess(EACH_KIND));
