import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { BlockersClient as _fitness_common_v1_BlockersClient, BlockersDefinition as _fitness_common_v1_BlockersDefinition } from './fitness/common/v1/Blockers.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    common: {
      v1: {
        Blockers: SubtypeConstructor<typeof grpc.Client, _fitness_common_v1_BlockersClient> & { service: _fitness_common_v1_BlockersDefinition }
        EvaluateRequest: MessageTypeDefinition
        EvaluateResponse: MessageTypeDefinition
      }
    }
  }
}

