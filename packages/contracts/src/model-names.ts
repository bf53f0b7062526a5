/** The model names of the public API (`payable_type`, `boostable_type`, `attachable_type`, `profile_type`). */
export const MODEL = {
  gym: 'App\\Models\\Gyms\\Gym',
  /** The model name of a gym in a post's profile, and in some clients. */
  gymProfile: 'App\\Models\\Gym',
  user: 'App\\Models\\User',
  post: 'App\\Models\\Posts\\Post',
  trainingService: 'App\\Models\\TrainingServices\\TrainingService',
  premiumSubscription: 'App\\Models\\Payments\\UserPremiumSubscription',
  marketingBoost: 'App\\Models\\Payments\\MarketingBoost',
} as const;
