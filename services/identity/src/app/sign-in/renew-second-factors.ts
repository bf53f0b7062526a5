import type { Dependencies } from '../../dependencies.ts';

/** Encrypts again what the previous key has encrypted. An operator may remove that key when a round finds nothing. */
export const createRenewSecondFactors =
  ({ store, secretBox, previousSecretBox, log }: Dependencies) =>
  async (stopping?: AbortSignal): Promise<void> => {
    const count = { renewed: 0, unreadable: 0 };
    for await (const { _id: userId, secret } of store.secondFactors.armed()) {
      if (stopping?.aborted === true) return;
      const owner = String(userId);
      if (secretBox.open(secret, owner) !== undefined) continue;
      const opened = previousSecretBox?.open(secret, owner);
      count[opened === undefined ? 'unreadable' : 'renewed'] += 1;
      if (opened !== undefined)
        await store.secondFactors.renew(userId, secret, secretBox.seal(opened, owner));
    }
    log.info(count, 'second factors of the previous key were encrypted with SECOND_FACTOR_KEY');
  };
