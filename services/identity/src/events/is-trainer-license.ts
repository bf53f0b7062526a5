import { MODEL } from '@fitness/contracts/model-names.ts';

export const isTrainerLicense = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === 'trainer_license' && row.attachable_type === MODEL.user;

/** Whether the file is public and shown with the user. */
export const isPublicFileOfUser = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === null && row.attachable_type === MODEL.user;
