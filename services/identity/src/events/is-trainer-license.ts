import { MODEL } from '@fitness/shared/models.ts';

/** Whether a media row is the licence document of a trainer. */
export const isTrainerLicense = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === 'trainer_license' && row.attachable_type === MODEL.user;
