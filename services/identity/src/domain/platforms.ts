/** Platforms of the apps that receive push messages. */
export const PLATFORMS = ['android', 'ios', 'web'] as const;
