import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { GymsClient as _fitness_gyms_v1_GymsClient, GymsDefinition as _fitness_gyms_v1_GymsDefinition } from './fitness/gyms/v1/Gyms.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    gyms: {
      v1: {
        AttachLicenseRequest: MessageTypeDefinition
        AttachLicenseResponse: MessageTypeDefinition
        GetGymsRequest: MessageTypeDefinition
        GetGymsResponse: MessageTypeDefinition
        Gym: MessageTypeDefinition
        Gyms: SubtypeConstructor<typeof grpc.Client, _fitness_gyms_v1_GymsClient> & { service: _fitness_gyms_v1_GymsDefinition }
      }
    }
  }
}

