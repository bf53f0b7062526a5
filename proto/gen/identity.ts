import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { MediaCopiesClient as _fitness_common_v1_MediaCopiesClient, MediaCopiesDefinition as _fitness_common_v1_MediaCopiesDefinition } from './fitness/common/v1/MediaCopies.ts';
import type { IdentityClient as _fitness_identity_v1_IdentityClient, IdentityDefinition as _fitness_identity_v1_IdentityDefinition } from './fitness/identity/v1/Identity.ts';
import type { MediaClient as _fitness_media_v1_MediaClient, MediaDefinition as _fitness_media_v1_MediaDefinition } from './fitness/media/v1/Media.ts';
import type { StoreBillingClient as _fitness_store_billing_v1_StoreBillingClient, StoreBillingDefinition as _fitness_store_billing_v1_StoreBillingDefinition } from './fitness/store_billing/v1/StoreBilling.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    common: {
      v1: {
        MediaCopies: SubtypeConstructor<typeof grpc.Client, _fitness_common_v1_MediaCopiesClient> & { service: _fitness_common_v1_MediaCopiesDefinition }
        MediaCopy: MessageTypeDefinition
        MediaFile: MessageTypeDefinition
        MediaTarget: MessageTypeDefinition
        SaveMediaCopyResponse: MessageTypeDefinition
      }
    }
    identity: {
      v1: {
        AttachLicenseRequest: MessageTypeDefinition
        AttachLicenseResponse: MessageTypeDefinition
        DeletionBlocker: MessageTypeDefinition
        GetDeletionBlockersRequest: MessageTypeDefinition
        GetDeletionBlockersResponse: MessageTypeDefinition
        GetHiddenUsersRequest: MessageTypeDefinition
        GetHiddenUsersResponse: MessageTypeDefinition
        GetUsersRequest: MessageTypeDefinition
        GetUsersResponse: MessageTypeDefinition
        HiddenUserFields: MessageTypeDefinition
        Identity: SubtypeConstructor<typeof grpc.Client, _fitness_identity_v1_IdentityClient> & { service: _fitness_identity_v1_IdentityDefinition }
        IntrospectRequest: MessageTypeDefinition
        IntrospectResponse: MessageTypeDefinition
        Role: MessageTypeDefinition
        ShowUsersRequest: MessageTypeDefinition
        ShowUsersResponse: MessageTypeDefinition
        User: MessageTypeDefinition
        UserResource: MessageTypeDefinition
      }
    }
    media: {
      v1: {
        DeleteByPurposeRequest: MessageTypeDefinition
        DeleteByPurposeResponse: MessageTypeDefinition
        GetCopiesRequest: MessageTypeDefinition
        GetCopiesResponse: MessageTypeDefinition
        Media: SubtypeConstructor<typeof grpc.Client, _fitness_media_v1_MediaClient> & { service: _fitness_media_v1_MediaDefinition }
        MediaRow: MessageTypeDefinition
        Target: MessageTypeDefinition
      }
    }
    store_billing: {
      v1: {
        Boost: MessageTypeDefinition
        BoostTarget: MessageTypeDefinition
        GetBoostsRequest: MessageTypeDefinition
        GetBoostsResponse: MessageTypeDefinition
        GetPricesRequest: MessageTypeDefinition
        GetPricesResponse: MessageTypeDefinition
        GetSubscriptionsRequest: MessageTypeDefinition
        GetSubscriptionsResponse: MessageTypeDefinition
        StoreBilling: SubtypeConstructor<typeof grpc.Client, _fitness_store_billing_v1_StoreBillingClient> & { service: _fitness_store_billing_v1_StoreBillingDefinition }
        Subscription: MessageTypeDefinition
      }
    }
  }
}

