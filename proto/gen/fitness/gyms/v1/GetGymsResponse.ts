// Original file: proto/gyms/v1/gyms.proto

import type { Gym as _fitness_gyms_v1_Gym, Gym__Output as _fitness_gyms_v1_Gym__Output } from '../../../fitness/gyms/v1/Gym.ts';

export interface GetGymsResponse {
  'gyms'?: (_fitness_gyms_v1_Gym)[];
}

export interface GetGymsResponse__Output {
  'gyms': (_fitness_gyms_v1_Gym__Output)[];
}
