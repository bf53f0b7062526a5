import { testListModel } from './list-model-cases.ts';

testListModel({ every: 1 });
