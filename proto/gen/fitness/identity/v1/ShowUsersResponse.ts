// Original file: proto/identity/v1/identity.proto

import type { UserResource as _fitness_identity_v1_UserResource, UserResource__Output as _fitness_identity_v1_UserResource__Output } from '../../../fitness/identity/v1/UserResource.ts';

export interface ShowUsersResponse {
  'users'?: (_fitness_identity_v1_UserResource)[];
}

export interface ShowUsersResponse__Output {
  'users': (_fitness_identity_v1_UserResource__Output)[];
}
