import { createAttachFile } from './app/attach-file.ts';
import { createDeleteMedia } from './app/delete-media.ts';
import { createDeleteMediaByPurpose } from './app/delete-media-by-purpose.ts';
import { createDeleteMediaOfTarget } from './app/delete-media-of-target.ts';
import { createDownloadFile } from './app/download-file.ts';
import { createEraseAccount } from './app/erase-account.ts';
import { createCopyMedia } from './app/media-copies.ts';
import { createReceiveFile } from './app/receive-file.ts';
import { createSweepFiles } from './app/sweep-files.ts';
import type { Dependencies } from './dependencies.ts';

export const createUseCases = (dependencies: Dependencies) => ({
  copyMedia: createCopyMedia(dependencies),
  attachFile: createAttachFile(dependencies),
  deleteMedia: createDeleteMedia(dependencies),
  deleteMediaByPurpose: createDeleteMediaByPurpose(dependencies),
  deleteMediaOfTarget: createDeleteMediaOfTarget(dependencies),
  downloadFile: createDownloadFile(dependencies),
  eraseAccount: createEraseAccount(dependencies),
  receiveFile: createReceiveFile(dependencies),
  sweepFiles: createSweepFiles(dependencies),
});

export type UseCases = ReturnType<typeof createUseCases>;
