/** The deletion blockers of the caller's account. No route of the API reads them without starting a deletion. */
import { blockerMessageKey } from '@fitness/contracts/blockers.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Translate } from '@fitness/shared/kernel/i18n/translate.ts';

export interface ShownBlocker {
  code: string;
  message: string;
  /** The unsettled balance, in Tooman. */
  balance?: number;
}

const DEADLINE_MS = 5_000;

/** The blockers in the form of the 409. Throws 403 without `payments.view_own`, and 503 if identity does not respond. */
export const readBlockers = async (
  identity: GrpcClient<IdentityDefinition>,
  caller: UserCaller,
  t: Translate,
): Promise<ShownBlocker[]> => {
  const call = { caller, deadlineMs: DEADLINE_MS, retry: true };
  const { blockers } = await identity.call('GetDeletionBlockers', {}, call);
  return blockers.map(({ code, extras_json }) => {
    const extras: Record<string, string | number> = JSON.parse(extras_json);
    return { code, message: t(message(blockerMessageKey(code), extras)), ...extras };
  });
};
