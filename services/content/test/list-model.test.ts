import { testListModel } from './list-model-cases.ts';

// No two filters repeat after this number of queries.
testListModel({ every: 7 });
