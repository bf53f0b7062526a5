/** The only place of this service that reads the environment. */
import { grpcAddresses, parseConfig, serviceShape, url } from '@fitness/shared/config.ts';
import { z } from 'zod';

const HTTP_PORT = 8106;

const baseUrl = url.transform((value) => value.replace(/\/+$/, ''));
const secret = z.string().min(1);
/** Rial that make whole Tooman: the payment is booked in Tooman. */
const priceRial = z.coerce.number().int().positive().multipleOf(10);
const days = z.coerce.number().int().min(1).max(3_650);
/** An application's id at the stores. */
const packageName = z
  .string()
  .regex(/^[A-Za-z][\w]*(\.[A-Za-z][\w]*)+$/, 'must be a package name such as com.example.app')
  .default('com.fitness.app');

const schema = z
  .object({
    ...serviceShape('store-billing', HTTP_PORT),
    WALLET_GRPC_ADDRESS: grpcAddresses.WALLET_GRPC_ADDRESS,
    GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
    CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
    /** The one store whose purchases are accepted. */
    STORE_CHANNEL: z.enum(['cafebazaar', 'myket', 'google_play']).default('cafebazaar'),
    CAFEBAZAAR_BASE_URL: baseUrl.default('https://pardakht.cafebazaar.ir/devapi/v2'),
    CAFEBAZAAR_API_SECRET: secret.optional(),
    CAFEBAZAAR_PACKAGE: packageName,
    MYKET_BASE_URL: baseUrl.default('https://developer.myket.ir/api/partners'),
    MYKET_ACCESS_TOKEN: secret.optional(),
    MYKET_PACKAGE: packageName,
    GOOGLE_PLAY_BASE_URL: baseUrl.default('https://androidpublisher.googleapis.com'),
    GOOGLE_PLAY_TOKEN_URL: url.default('https://oauth2.googleapis.com/token'),
    GOOGLE_PLAY_CLIENT_EMAIL: secret.optional(),
    /** PEM of the service account's key; `\n` may stand for a line's end. */
    GOOGLE_PLAY_PRIVATE_KEY: secret.transform((pem) => pem.replaceAll('\\n', '\n')).optional(),
    GOOGLE_PLAY_PACKAGE: packageName,
    /** How long the store may take to answer. */
    STORE_TIMEOUT_MS: z.coerce.number().int().min(1).max(60_000).default(4_000),
    PRICE_PREMIUM_PLUS_RIAL: priceRial.default(19_990_000),
    PRICE_BOOST_BASIC_RIAL: priceRial.default(990_000),
    PRICE_BOOST_PRO_RIAL: priceRial.default(1_900_000),
    BOOST_BASIC_DAYS: days.default(7),
    BOOST_PRO_DAYS: days.default(30),
  })
  .superRefine((config, context) => {
    // Only the chosen store's credentials are needed.
    const needed = {
      cafebazaar: ['CAFEBAZAAR_API_SECRET'],
      myket: ['MYKET_ACCESS_TOKEN'],
      google_play: ['GOOGLE_PLAY_CLIENT_EMAIL', 'GOOGLE_PLAY_PRIVATE_KEY'],
    } as const;
    for (const name of needed[config.STORE_CHANNEL]) {
      if (config[name] !== undefined) continue;
      const text = `is needed with STORE_CHANNEL=${config.STORE_CHANNEL}`;
      context.addIssue({ code: 'custom', path: [name], message: text });
    }
  });

export type StoreBillingConfig = z.output<typeof schema>;

/** Throws ConfigError, naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): StoreBillingConfig =>
  parseConfig(schema, env);
