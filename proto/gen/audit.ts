import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { AuditLogClient as _fitness_common_v1_AuditLogClient, AuditLogDefinition as _fitness_common_v1_AuditLogDefinition } from './fitness/common/v1/AuditLog.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    common: {
      v1: {
        AuditEntry: MessageTypeDefinition
        AuditFilter: MessageTypeDefinition
        AuditLog: SubtypeConstructor<typeof grpc.Client, _fitness_common_v1_AuditLogClient> & { service: _fitness_common_v1_AuditLogDefinition }
        CountAuditEntriesRequest: MessageTypeDefinition
        CountAuditEntriesResponse: MessageTypeDefinition
        ListAuditEntriesRequest: MessageTypeDefinition
        ListAuditEntriesResponse: MessageTypeDefinition
      }
    }
  }
}

