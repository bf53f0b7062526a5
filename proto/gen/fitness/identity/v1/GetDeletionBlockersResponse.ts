// Original file: proto/identity/v1/identity.proto

import type { DeletionBlocker as _fitness_identity_v1_DeletionBlocker, DeletionBlocker__Output as _fitness_identity_v1_DeletionBlocker__Output } from '../../../fitness/identity/v1/DeletionBlocker.ts';

export interface GetDeletionBlockersResponse {
  'blockers'?: (_fitness_identity_v1_DeletionBlocker)[];
}

export interface GetDeletionBlockersResponse__Output {
  'blockers': (_fitness_identity_v1_DeletionBlocker__Output)[];
}
