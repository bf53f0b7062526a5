/** Of the apps that get push messages. */
export const PLATFORMS = ['android', 'ios', 'web'] as const;
