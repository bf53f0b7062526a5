import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { IdentityClient as _fitness_identity_v1_IdentityClient, IdentityDefinition as _fitness_identity_v1_IdentityDefinition } from './fitness/identity/v1/Identity.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    identity: {
      v1: {
        AttachLicenseRequest: MessageTypeDefinition
        AttachLicenseResponse: MessageTypeDefinition
        GetHiddenUsersRequest: MessageTypeDefinition
        GetHiddenUsersResponse: MessageTypeDefinition
        GetUsersRequest: MessageTypeDefinition
        GetUsersResponse: MessageTypeDefinition
        Identity: SubtypeConstructor<typeof grpc.Client, _fitness_identity_v1_IdentityClient> & { service: _fitness_identity_v1_IdentityDefinition }
        IntrospectRequest: MessageTypeDefinition
        IntrospectResponse: MessageTypeDefinition
        User: MessageTypeDefinition
      }
    }
  }
}

