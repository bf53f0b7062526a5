import { MODEL } from '@fitness/shared/models.ts';

const GYM_MODELS: readonly string[] = [MODEL.gym, MODEL.gymProfile];

/** Whether a media row is the licence document of a gym. */
export const isGymLicense = (row: { purpose: string | null; attachable_type: string }): boolean =>
  row.purpose === 'gym_license' && GYM_MODELS.includes(row.attachable_type);
