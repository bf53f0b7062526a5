import type { MessageKey, MessageParams } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { translate } from '@fitness/shared/kernel/i18n/translate.ts';

export const english = (key: MessageKey, params?: MessageParams): string => translate('en', key, params);
