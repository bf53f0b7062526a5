/** The channels through which an account receives each type of notification. */
import {
  MANDATORY_EMAILS,
  NOTIFICATION_TYPES,
  type NotificationType,
} from '@fitness/contracts/notifications.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import type { Dependencies } from '../../dependencies.ts';
import type { NotificationPreferences } from '../../store/notification-preferences.ts';

const CHANNELS = ['push', 'email'] as const;
export type Channel = (typeof CHANNELS)[number];

const channels = z.object({
  push: z.boolean().meta({
    description:
      'Whether notifications of this type are pushed to your devices, in the language of each device',
  }),
  email: z.boolean().meta({ description: 'Whether notifications of this type are sent by email' }),
});

const CHANNELS_OF_TYPE = 'Channels of this type';
const BY_TYPE = 'Channels by type of notification';

const perType = <Schema extends z.ZodType>(
  schemaOf: (type: NotificationType) => Schema,
): z.ZodObject<Record<NotificationType, Schema>> =>
  z.object(
    Object.fromEntries(NOTIFICATION_TYPES.map((type) => [type, schemaOf(type)])) as Record<
      NotificationType,
      Schema
    >,
  );

export const preferencesSchema = z
  .object({
    locale: z
      .string()
      .nullable()
      .meta({ description: 'Language of your emails. Null: the language of your newest device.' }),
    types: perType(() => channels.meta({ description: CHANNELS_OF_TYPE })).meta({ description: BY_TYPE }),
  })
  .meta({
    id: 'NotificationPreferences',
    description: 'By which channels you get each type of notification',
  });

const isMandatory = (type: NotificationType): boolean =>
  (MANDATORY_EMAILS as readonly string[]).includes(type);

/** Omitted preferences stay as they are. */
export const preferencesChangeSchema = perType((type) =>
  channels
    .extend({
      email: channels.shape.email.refine(
        (isOn) => isOn || !isMandatory(type),
        withMessage('notification.email.mandatory'),
      ),
    })
    .partial()
    .meta({ description: CHANNELS_OF_TYPE }),
)
  .partial()
  .meta({ description: BY_TYPE });

type PreferencesResource = z.output<typeof preferencesSchema>;
interface PreferencesChange {
  locale?: string | null | undefined;
  types?: z.output<typeof preferencesChangeSchema> | undefined;
}

const keyOf = (type: NotificationType, channel: Channel): string => `${type}:${channel}`;

export const isWanted = (
  { off }: NotificationPreferences,
  type: NotificationType,
  channel: Channel,
): boolean => !off.includes(keyOf(type, channel));

export const toPreferences = (preferences: NotificationPreferences): PreferencesResource => ({
  locale: preferences.locale,
  types: Object.fromEntries(
    NOTIFICATION_TYPES.map((type) => [
      type,
      { push: isWanted(preferences, type, 'push'), email: isWanted(preferences, type, 'email') },
    ]),
  ) as PreferencesResource['types'],
});

const createGetPreferences =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (userId: number): Promise<NotificationPreferences> =>
    store.preferences.find(userId);

const createUpdatePreferences =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (userId: number, { locale, types = {} }: PreferencesChange): Promise<NotificationPreferences> => {
    return store.transaction(async (session) => {
      // Conflicts with an erasure, so that nothing is stored for an erased account.
      if (!(await store.users.touchIfLive(session, userId))) throw forbidden('the account was erased');
      const before = await store.preferences.find(userId, session);
      const off = new Set(before.off);
      for (const type of NOTIFICATION_TYPES) {
        for (const channel of CHANNELS) {
          const isOn = types[type]?.[channel];
          if (isOn === true) off.delete(keyOf(type, channel));
          if (isOn === false) off.add(keyOf(type, channel));
        }
      }
      const after = {
        _id: userId,
        locale: locale === undefined ? before.locale : locale,
        off: [...off].sort(),
      };
      await store.preferences.put(session, after);
      return after;
    });
  };

export const createPreferenceUseCases = (dependencies: Pick<Dependencies, 'store'>) => ({
  getPreferences: createGetPreferences(dependencies),
  updatePreferences: createUpdatePreferences(dependencies),
});
