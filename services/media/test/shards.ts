import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  media: {
    key: ['_id'],
    because: 'a sequence: every download names it',
    scatters: {
      'the files of a target at an upload, a deletion or a rebuild; pages have copies': [
        'find: public_target',
        'find: target',
      ],
      'a license that replaces one': ['find: document_key'],
      'the erasure of an account': ['find: uploaded_by'],
      'the sweep of files without a row': ['find: storage_key', 'find: variant_keys'],
    },
    claims: {
      document_key_1: 'a collection of documents, keyed by target and purpose, that names the row',
      storage_key_1: 'nothing: the key is random, and an index that is not unique finds it',
    },
  },
  media_gates: { key: ['_id'], because: 'a target or a storage key; every command names it' },
};
