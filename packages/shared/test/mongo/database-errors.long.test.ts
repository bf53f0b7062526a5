import { TABLE, testDatabaseErrors } from './database-errors.ts';

testDatabaseErrors(TABLE);
