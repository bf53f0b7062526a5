import { MODEL } from '@fitness/contracts/model-names.ts';

const GYM_MODELS: readonly string[] = [MODEL.gym, MODEL.gymProfile];

/** Whether the media row of an event is the license document of a gym. */
export const isGymLicense = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === 'gym_license' && GYM_MODELS.includes(row.attachable_type);

/** Whether the media row is a file that everyone sees with the gym. */
export const isPublicFileOfGym = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === null && row.attachable_type === MODEL.gym;
