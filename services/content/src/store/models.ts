/** The collections of content's database. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import type { TextDocument } from '@fitness/shared/lists/texts.ts';
import type { VersionedCounter } from '@fitness/shared/lists/versions.ts';
import { erase, personalFieldsOf, privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import type { PostFields } from '../domain/post.ts';
import type { ProfileCounts } from '../domain/post-lists.ts';
import type { ProfileKind } from '../domain/profile.ts';
import { TRAINEE_STATUSES, type TraineeStatus } from '../domain/trainee.ts';
import type { TrainingServiceFields } from '../domain/training-service.ts';

export interface PostDocument extends PostFields {
  _id: number;
  profile_key: string;
  profile_kind: ProfileKind;
  profile_id: number;
  owner_user_id: number | null;
  is_public: boolean;
  gone: boolean;
  /** The lists that the post belongs to. */
  facets: string[];
  created_at: Date;
  updated_at: Date;
  version: number;
  /** Missing from documents that an older release stored. */
  media?: MediaCopy;
}

/** The read model of gyms and accounts, and how many posts each has. */
export interface ProfileDocument {
  /** `gym:12`, `user:7` */
  _id: string;
  kind: ProfileKind;
  profile_id: number;
  owner_user_id: number | null;
  is_active: boolean;
  gone: boolean;
  /** Version of the last event or gRPC response that was stored. */
  version: number;
  counts: ProfileCounts;
  /** The largest id that a post of this profile ever had. */
  newest: number;
  /** The largest id of a post that has the state above. Missing once every post has it. */
  moved_through?: number;
  /** Incremented to write the document, so that a concurrent erasure conflicts; the value has no meaning. */
  pins?: number;
}

/** A profile whose posts change from one state to another in several steps. */
export interface MovingProfile {
  /** The approximate number of its posts. */
  posts: number;
  gone: boolean;
}

/**
 * Counters over a whole collection. They are sharded over several documents, so concurrent writers rarely conflict.
 * Changes name a row by its id, or posts by a key in `profiles`.
 */
export interface CounterDocument extends VersionedCounter {
  _id: string;
  counts: Record<string, number>;
  /** Keyed like `profiles`. Lists and public counts leave out the posts of these profiles. */
  moving?: Record<string, MovingProfile>;
  /** The largest id counted in this document. */
  newest: number;
}

export interface TrainingServiceDocument extends TrainingServiceFields {
  _id: number;
  user_id: number;
  facets: string[];
  /** The epoch if it was never boosted. */
  boosted_until: Date;
  /** Level of that boost: 1 basic, 2 pro; 0 if it was never boosted. */
  boost_level: number;
  created_at: Date;
  updated_at: Date;
  version: number;
  /** Missing from documents that an older release stored. */
  media?: MediaCopy;
}

/** The read model of boosts, from the events of store-billing. */
export interface BoostDocument {
  _id: number;
  training_service_id: number;
  level: number;
  ends_at: Date;
  version: number;
}

export interface TraineeDocument {
  _id: number;
  training_service_id: number;
  title: string;
  seller_user_id: number;
  user_id: number;
  price: number;
  commission: number;
  status: TraineeStatus;
  /** `_id` in `purchase_keys`; null for a purchase without an `Idempotency-Key`. */
  purchase_key: string | null;
  /** When the calls of every attempt have finished at the latest. Null once the purchase has ended. */
  lease_until: Date | null;
  /** How many times the purchase was started or resumed. */
  attempts: number;
  created_at: Date;
  delivered_at: Date | null;
  version: number;
}

/** A buyer's `Idempotency-Key`: a repeated request resumes the purchase that the first one started. */
export interface PurchaseKeyDocument {
  /** Hash of the user id and the key. */
  _id: string;
  trainee_id: number;
  expires_at: Date;
}

const text = { type: String, required: true };
const number = { type: Number, required: true };
const flag = { type: Boolean, required: true };
const date = { type: Date, required: true };
const settings = (collection: string) => ({ collection, versionKey: false as const, minimize: false });

const postSchema = new Schema<PostDocument>(
  {
    _id: number,
    profile_key: text,
    profile_kind: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
    is_public: flag,
    gone: flag,
    title: text,
    content: text,
    is_draft: flag,
    in_blog: flag,
    facets: { type: [String], required: true },
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  },
  settings('posts'),
)
  .index({ facets: 1, _id: -1 })
  .index({ profile_key: 1, _id: 1 });

const textSchema = (collection: string) =>
  new Schema<TextDocument>({ row: number, grams: { type: [String], required: true } }, settings(collection))
    .index({ grams: 1, row: -1 })
    .index({ row: 1 });
const postTextSchema = textSchema('posts_texts');
const trainingServiceTextSchema = textSchema('training_services_texts');

const countsSchema = new Schema<ProfileCounts>(
  { published_blog: number, published_regular: number, draft_blog: number, draft_regular: number },
  { _id: false },
);

const profileSchema = new Schema<ProfileDocument>(
  {
    _id: text,
    kind: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
    is_active: flag,
    gone: flag,
    version: number,
    counts: { type: countsSchema, required: true },
    newest: number,
    moved_through: Number,
    pins: Number,
  },
  settings('profiles'),
).index({ owner_user_id: 1 });

const counterSchema = new Schema<CounterDocument>(
  {
    _id: text,
    counts: { type: Schema.Types.Mixed, required: true },
    moving: Schema.Types.Mixed,
    newest: number,
    version: Number,
    changes: { type: [Schema.Types.Mixed], default: undefined },
  },
  settings('counters'),
);

const trainingServiceSchema = new Schema<TrainingServiceDocument>(
  {
    _id: number,
    user_id: number,
    title: text,
    description: { type: String, default: '' },
    price: number,
    duration_days: number,
    is_active: flag,
    facets: { type: [String], required: true },
    boosted_until: date,
    boost_level: number,
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  },
  settings('training_services'),
)
  .index({ facets: 1, _id: -1 })
  .index({ facets: 1, price: 1 })
  .index({ boosted_until: 1 })
  .index({ user_id: 1 });

const boostSchema = new Schema<BoostDocument>(
  { _id: number, training_service_id: number, level: number, ends_at: date, version: number },
  settings('boosts'),
).index({ training_service_id: 1 });

const traineeSchema = new Schema<TraineeDocument>(
  {
    _id: number,
    training_service_id: number,
    title: text,
    seller_user_id: number,
    user_id: number,
    price: number,
    commission: number,
    status: { type: String, enum: TRAINEE_STATUSES, required: true },
    purchase_key: { type: String, default: null },
    lease_until: { type: Date, default: null },
    attempts: { type: Number, default: 0 },
    created_at: date,
    delivered_at: { type: Date, default: null },
    version: number,
  },
  settings('trainees'),
)
  .index({ seller_user_id: 1, status: 1, _id: -1 })
  .index({ user_id: 1, status: 1, _id: -1 })
  .index({ status: 1, lease_until: 1 });

const purchaseKeySchema = new Schema<PurchaseKeyDocument>(
  { _id: text, trainee_id: number, expires_at: date },
  settings('purchase_keys'),
).index({ expires_at: 1 }, { expireAfterSeconds: 0 });

privacy(
  postSchema,
  erase(
    'a post of an erased account is deleted',
    '_id',
    'title',
    'content',
    'facets',
    'profile_key',
    'profile_kind',
    'profile_id',
    'owner_user_id',
    'is_public',
    'gone',
    'is_draft',
    'in_blog',
    'created_at',
    'updated_at',
    'version',
    'media',
  ),
);

privacy(postTextSchema, erase('deleted with its post', '_id', 'row', 'grams'));
privacy(trainingServiceTextSchema, erase('deleted with its training service', '_id', 'row', 'grams'));

privacy(
  profileSchema,
  pseudonymise('the number of the account or gym', '_id', 'profile_id', 'owner_user_id'),
  retain(
    'the deletion mark: late events do not bring the profile back',
    'kind',
    'is_active',
    'gone',
    'version',
  ),
  retain('how far a change of its posts has come', 'moved_through'),
  retain('counters', 'newest', 'pins', 'counts.published_blog', 'counts.published_regular'),
  retain('counters', 'counts.draft_blog', 'counts.draft_regular'),
);

privacy(
  counterSchema,
  retain('how many there are', '_id', 'counts', 'newest', 'version'),
  pseudonymise('the numbers of the posts, training services and profiles that changed last', 'changes'),
  pseudonymise('the numbers of the profiles whose posts are being changed', 'moving'),
);

privacy(
  trainingServiceSchema,
  erase(
    'a training service of an erased account is deleted',
    '_id',
    'title',
    'description',
    'price',
    'user_id',
    'duration_days',
    'is_active',
    'facets',
    'boosted_until',
    'boost_level',
    'created_at',
    'updated_at',
    'version',
    'media',
  ),
);

privacy(
  boostSchema,
  erase('deleted with its training service', '_id', 'training_service_id', 'level', 'ends_at', 'version'),
);

privacy(
  traineeSchema,
  pseudonymise('the numbers of the accounts', 'seller_user_id', 'user_id'),
  retain(
    'the record of the other party’s purchase or sale, with the title at that time',
    '_id',
    'title',
    'price',
    'training_service_id',
    'commission',
    'status',
    'created_at',
    'delivered_at',
    'version',
  ),
  retain('the progress of the purchase', 'lease_until', 'attempts'),
  retain('the hash of a key', 'purchase_key'),
);

privacy(purchaseKeySchema, retain('the hash of a key, for 24 hours', '_id', 'trainee_id', 'expires_at'));

export const isPersonalPostField = personalFieldsOf(postSchema);
export const isPersonalTrainingServiceField = personalFieldsOf(trainingServiceSchema);

export interface Models {
  posts: Model<PostDocument>;
  postTexts: Model<TextDocument>;
  profiles: Model<ProfileDocument>;
  counters: Model<CounterDocument>;
  trainingServices: Model<TrainingServiceDocument>;
  trainingServiceTexts: Model<TextDocument>;
  boosts: Model<BoostDocument>;
  trainees: Model<TraineeDocument>;
  purchaseKeys: Model<PurchaseKeyDocument>;
}

/** Call it once per connection. */
export const registerModels = (connection: Connection): Models => ({
  posts: connection.model<PostDocument>('Post', postSchema),
  postTexts: connection.model<TextDocument>('PostText', postTextSchema),
  profiles: connection.model<ProfileDocument>('Profile', profileSchema),
  counters: connection.model<CounterDocument>('Counter', counterSchema),
  trainingServices: connection.model<TrainingServiceDocument>('TrainingService', trainingServiceSchema),
  trainingServiceTexts: connection.model<TextDocument>('TrainingServiceText', trainingServiceTextSchema),
  boosts: connection.model<BoostDocument>('Boost', boostSchema),
  trainees: connection.model<TraineeDocument>('Trainee', traineeSchema),
  purchaseKeys: connection.model<PurchaseKeyDocument>('PurchaseKey', purchaseKeySchema),
});
