/** What a file was attached to is gone: its files go, the private documents among them. */
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Target } from '../domain/media.ts';
import type { GateStore } from '../store/gates.ts';
import type { MediaStore } from '../store/media.ts';
import type { DropFiles } from './drop-files.ts';
import { tellDeleted } from './tell.ts';

export interface ForgetParts {
  media: MediaStore;
  gates: GateStore;
  outbox: Outbox;
  dropFiles: DropFiles;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

/** Rows of one transaction: a target may have more files than one transaction should hold. */
const ROWS_AT_ONCE = 50;

/** May be repeated, also after a crash half-way. */
export type ForgetTarget = (target: Target) => Promise<void>;

export const createForgetTarget =
  ({ media, gates, outbox, dropFiles, transact }: ForgetParts): ForgetTarget =>
  async (target) => {
    // First, and committed by itself: from here on nothing is attached, so what is read below is all there is.
    await gates.shut(target);
    for (;;) {
      const rows = await transact(async (session) => {
        const taken = await media.takeOf(session, target, ROWS_AT_ONCE);
        for (const row of taken) await tellDeleted(outbox, session, row);
        return taken;
      });
      if (rows.length === 0) return;
      await dropFiles(rows);
    }
  };

/** An erased account (contract 2.2): his files go, and files of other targets forget that he uploaded them. */
export type ForgetAccount = (userId: number) => Promise<void>;

export const createForgetAccount =
  ({ media }: Pick<ForgetParts, 'media'>, forgetTarget: ForgetTarget): ForgetAccount =>
  async (userId) => {
    await forgetTarget({ attachable_type: MODEL.user, attachable_id: userId });
    await media.forgetUploader(userId);
  };
