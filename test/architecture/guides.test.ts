/** The figures and lists in the guides for app developers match the code. */
import { bodyLimitOf } from '@fitness/shared/http/define-route.ts';
import { MAX_NESTING } from '@fitness/shared/http/json-nesting.ts';
import { DEFAULT_PER_PAGE, MAX_PER_PAGE, SKIPPED_MAX } from '@fitness/shared/http/pagination.ts';
import { MAX_KEY_CHARACTERS } from '@fitness/shared/http/validation.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { COUNTED_MAX } from '@fitness/shared/lists/batches.ts';
import { TTL_MS } from '@fitness/shared/mongo/idempotency-claims.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { POSTS_PER_USER } from '../../gateway/src/mcp/routes.ts';
import { MAX_BATCH } from '../../gateway/src/mcp/server.ts';
import { LIFETIME_S } from '../../gateway/src/pages/account-deletion/routes.ts';
import { placesPerNetwork, shareOfTotal } from '../../gateway/src/request/open-requests.ts';
import { UPLOADS_PER_USER } from '../../gateway/src/request/proxy.ts';
import { IDEMPOTENT } from '../../packages/client/src/generated/idempotent.ts';
import { IDLE_S, SESSION_S } from '../../packages/ops/src/routes.ts';
import { POST_BODY_BYTES } from '../../services/content/src/domain/post.ts';
import { MAX_YEARS_AHEAD } from '../../services/identity/src/app/credentials/create-personal-token.ts';
import { ofUnknownNetworks } from '../../services/identity/src/app/sign-in/sms-budget.ts';
import {
  CODE_LIFETIME_MS,
  LOCKOUT_MS,
  MAX_CONSECUTIVE_FAILURES,
  MAX_FAILED_ATTEMPTS,
} from '../../services/identity/src/domain/confirmation-code.ts';
import {
  MAX_AUTHORIZATION_LENGTH,
  MAX_FORM_BYTES,
  MAX_REGISTRATION_BYTES,
} from '../../services/identity/src/oauth/plugin.ts';
import { GRANT_LIFETIME_MS } from '../../services/identity/src/oauth/provider.ts';
import { MAX_DEVICES } from '../../services/identity/src/store/devices.ts';
import { MAX_NETWORKS } from '../../services/identity/src/store/login-keys.ts';
import { MAX_PUBLIC_FILES } from '../../services/media/src/domain/attachable.ts';
import {
  MAX_FILE_BYTES,
  MAX_IMAGE_FRAMES,
  MAX_IMAGE_PIXELS,
  MAX_IMAGE_SIDE,
  MAX_NAME_CHARACTERS,
} from '../../services/media/src/domain/file-types.ts';
import { DOWNLOAD_LIMITS } from '../../services/media/src/http/download-limit.ts';
import { UPLOAD_DEADLINE_MS } from '../../services/media/src/service.ts';
import { VERIFICATION_WINDOW_MS } from '../../services/store-billing/src/domain/attempt.ts';
import { REDEMPTIONS } from '../../services/store-billing/src/http/post-store-purchase.ts';
import { WAITING_PER_USER } from '../../services/wallet/src/app/ask-once.ts';
import { WRONG_CALLBACKS } from '../../services/wallet/src/app/receive-callback.ts';
import { EXPIRES_MS } from '../../services/wallet/src/domain/deposit.ts';
import {
  MAX_OPEN_DEPOSITS,
  MAX_ORDERS,
  OPEN_LIMIT_MS,
  ORDER_LIMIT_MS,
} from '../../services/wallet/src/domain/order-limits.ts';
import { MAX_TOOMAN, MIN_TOOMAN } from '../../services/wallet/src/http/post-deposit.ts';
import { loadConfigurations, type Variable } from './configurations.ts';
import { productSources, read } from './support.ts';

const LIMITS = 'docs/guides/apps/limits.md';
const RETRIES = 'docs/guides/apps/retries.md';

test(`${RETRIES} lists the operations that accept an Idempotency-Key, and how long one is kept`, () => {
  const listed = [...read(RETRIES).matchAll(/^- `(POST [^`]+)`$/gm)].map(([, operation]) => operation);
  const operations = [...IDEMPOTENT].map((operation) => operation.replace('/api/v1', ''));
  expect(listed).toEqual(operations);
  expect(read(RETRIES)).toContain(`kept for ${TTL_MS / HOUR_MS} hours`);
  expect(read(RETRIES)).toContain(`After ${TTL_MS / HOUR_MS} hours a key is new`);
});

test(`${RETRIES} lists the client's defaults`, () => {
  const source = read('packages/client/src/retry.ts');
  const defaultOf = (name: string): number =>
    Number(new RegExp(`[{ ]${name} = ([\\d_]+)`).exec(source)?.[1]?.replaceAll('_', ''));
  for (const text of [
    `up to ${defaultOf('retries')} times (\`retries\`)`,
    `most ${defaultOf('maxRetryAfterSeconds')} seconds (\`maxRetryAfterSeconds\`)`,
    `${defaultOf('timeoutMs') / SECOND_MS} seconds until its response begins (\`timeoutMs\`)`,
    `${defaultOf('uploadTimeoutMs') / SECOND_MS} seconds when it sends a file (\`uploadTimeoutMs\`)`,
  ])
    expect(read(RETRIES).replaceAll(/\s+/g, ' ')).toContain(text);
});

let variables: readonly Variable[];
let signedInSms: { usual: number; demo: number };
beforeAll(async () => {
  ({ variables } = await loadConfigurations());
  ({ SIGNED_IN_SMS_PER_PHONE: signedInSms } = await import('../../services/identity/src/config.ts'));
});

const KIBIBYTE = 1024;
const MINUTE_S = MINUTE_MS / SECOND_MS;
const figure = (value: number): string => value.toLocaleString('en');
const kibibytes = (bytes: number): string => `${bytes / KIBIBYTE} KiB`;

const perMinute = ({ points, windowS }: { points: number; windowS: number }): string =>
  `${(points * MINUTE_S) / windowS} a minute`;

const { post, gym, user, training_service } = MAX_PUBLIC_FILES;

/** Figures of rows without a variable, and of rows that say more than the variable's value. */
const figures = (defaultOf: (name: string) => number): Record<string, string> => ({
  'lifetime of a code by SMS': `${CODE_LIFETIME_MS / MINUTE_MS} minutes`,
  'wrong tries of a deletion code': figure(MAX_FAILED_ATTEMPTS),
  'wrong deletion codes in a row': figure(MAX_CONSECUTIVE_FAILURES),
  'wrong tries of the code for a new phone': figure(MAX_FAILED_ATTEMPTS),
  'password checks that wait': `as many as ${defaultOf('PASSWORD_QUEUE_MS') / SECOND_MS} seconds take`,
  'SMS of signed-in callers': `${signedInSms.usual} a day (${signedInSms.demo} with demo data)`,
  'of these, from networks that are not known': `${ofUnknownNetworks(defaultOf('SMS_ANONYMOUS_PER_PHONE'))} a day`,
  'devices that one notification is pushed to': figure(MAX_DEVICES),
  'personal access token': `${defaultOf('TOKEN_LIFETIME_DAYS')} days; at most ${MAX_YEARS_AHEAD} year ahead`,
  'OAuth grant': `${GRANT_LIFETIME_MS / DAY_MS} days`,
  'session of `/ops`': `${SESSION_S / MINUTE_S} minutes, ${IDLE_S / MINUTE_S} minutes unused`,
  'session of `/account-deletion`': `${LIFETIME_S / MINUTE_S} minutes`,
  'JSON body below `/auth`': kibibytes(bodyLimitOf({ path: '/auth/login' })),
  'JSON body of a post': kibibytes(POST_BODY_BYTES),
  'JSON body elsewhere': kibibytes(bodyLimitOf({ path: '/payments/deposit' })),
  'form of an OAuth page': kibibytes(MAX_FORM_BYTES),
  'registration of an OAuth client': kibibytes(MAX_REGISTRATION_BYTES),
  'address of an OAuth authorization': `${figure(MAX_AUTHORIZATION_LENGTH)} characters`,
  'nesting of JSON': `${MAX_NESTING} levels`,
  file: `${MAX_FILE_BYTES / KIBIBYTE ** 2} MiB`,
  'public files of a target': `post ${post}, gym ${gym}, user ${user}, training service ${training_service}`,
  'pixels of an image, all frames': figure(MAX_IMAGE_PIXELS),
  'width and height of an image': `${figure(MAX_IMAGE_SIDE)} pixels`,
  'frames of an animation': figure(MAX_IMAGE_FRAMES),
  'name of a file': `${MAX_NAME_CHARACTERS} characters`,
  'length of an `Idempotency-Key`': `${MAX_KEY_CHARACTERS} visible characters`,
  'messages of a batch of `/mcp`': figure(MAX_BATCH),
  'rows of a page, by default': figure(DEFAULT_PER_PAGE),
  '`per_page`': figure(MAX_PER_PAGE),
  'rows that page numbers reach': figure(SKIPPED_MAX),
  'rows that a search reads to count its results': figure(COUNTED_MAX),
  'a whole body, except a file': `${defaultOf('BODY_TIMEOUT_MS') / SECOND_MS} seconds`,
  'an upload without a byte': `${defaultOf('UPLOAD_IDLE_TIMEOUT_MS') / SECOND_MS} seconds`,
  'a response from a service': `${defaultOf('UPSTREAM_TIMEOUT_MS') / SECOND_MS} seconds`,
  'a whole upload': `${UPLOAD_DEADLINE_MS / MINUTE_MS} minutes`,
  'a download of which nothing is read': `${DOWNLOAD_LIMITS.stalledMs / MINUTE_MS} minute`,
  'a whole download': `${DOWNLOAD_LIMITS.deadlineMs / MINUTE_MS} minutes`,
  'lifetime of an `Idempotency-Key`': `${TTL_MS / HOUR_MS} hours`,
  'of these, for one service': figure(shareOfTotal(defaultOf('OPEN_REQUESTS_LIMIT'))),
  'of these, for one network': figure(placesPerNetwork(shareOfTotal(defaultOf('OPEN_REQUESTS_LIMIT')))),
  downloads: figure(DOWNLOAD_LIMITS.max),
  'redemptions of store purchases': perMinute(REDEMPTIONS),
  'wrong returns from the bank gateway': perMinute(WRONG_CALLBACKS),
  'returns from the bank gateway that wait': figure(WAITING_PER_USER),
  'uploads of a user': figure(UPLOADS_PER_USER),
  'POST requests to `/mcp`': figure(POSTS_PER_USER),
  'amount of a deposit': `${figure(MIN_TOOMAN)} to ${figure(MAX_TOOMAN)} Tooman`,
  'open deposits': `${MAX_OPEN_DEPOSITS}, begun within ${OPEN_LIMIT_MS / MINUTE_MS} minutes`,
  'deposits, even cancelled ones': `${MAX_ORDERS} in ${ORDER_LIMIT_MS / HOUR_MS} hours`,
  'payment of a deposit': `within ${EXPIRES_MS / HOUR_MS} hours`,
  'verification of a store purchase': `within ${VERIFICATION_WINDOW_MS / HOUR_MS} hours`,
});

test(`each figure in ${LIMITS} matches the code`, () => {
  const defaultOf = (name: string): number => {
    const variable = variables.find((other) => other.name === name);
    return Number(variable?.field.parse(undefined));
  };
  const rows = read(LIMITS)
    .split('\n')
    .filter((line) => /^\| (?!limit |-)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const expected = figures(defaultOf);
  expect(rows.map(([, limit]) => limit)).toEqual(expect.arrayContaining(Object.keys(expected)));
  const wrong = rows.filter(([, limit = '', stated = '', ...others]) => {
    if (expected[limit] !== undefined) return stated !== expected[limit];
    const variable = /^`([A-Z_]+)`$/.exec(others.at(-2) ?? '')?.[1];
    return variable === undefined || stated.split(' ')[0] !== figure(defaultOf(variable));
  });
  expect(wrong).toEqual([]);
});

test(`${LIMITS} has the number of known networks per account and the lock time of deletion codes`, () => {
  const text = read(LIMITS).replaceAll(/\s+/g, ' ');
  expect(text).toContain(`the last ${MAX_NETWORKS} are kept`);
  expect(text).toContain(`422 under \`confirmation_code\` for ${LOCKOUT_MS / HOUR_MS} hours`);
});

/** The row of each limit on requests or messages, by the name of its counter. */
const ROWS: Readonly<Record<string, string>> = {
  'account-codes': 'deletion and password reset together',
  'anonymous-codes': 'anonymous calls that count for it',
  'resets-account-address': 'password reset, anonymous',
  'resets-account': 'password reset of an account, anonymous',
  'resets-address': 'password reset from an address, anonymous',
  'anonymous-sms-phone': 'SMS without a sign-in',
  'anonymous-sms': 'SMS without a sign-in in all',
  'signed-in-sms-phone': 'SMS of signed-in callers',
  'emails-account': 'e-mails of notifications',
  'emails-recipient': 'e-mails of notifications',
  'security-emails-account': 'e-mails about security',
  'security-emails-recipient': 'e-mails about security',
  'email-change-emails': 'e-mails to previous addresses',
  login: 'sign-ins',
  'failed-login': 'failed sign-ins',
  'password-check': 'checks of `current_password`, except for deletion',
  'wrong-second-factor': 'wrong codes of the second factor',
  registration: 'registrations',
  'name-change': 'changes of user name, e-mail and phone',
  'client-registration': 'registrations of OAuth clients',
  authorization: 'OAuth authorizations',
  'store-purchase': 'redemptions of store purchases',
  'wrong-deposit-callbacks': 'wrong returns from the bank gateway',
};

test(`every limit that the code counts has a row in ${LIMITS}`, () => {
  const DECLARED = /\bper(?:Minute|Hour|Day)\(\s*'([\w-]+)'|\bname: '([\w-]+)',\s*points\b/g;
  const names = productSources.flatMap((file) =>
    [...read(file).matchAll(DECLARED)].map(([, one, other]) => one ?? other ?? ''),
  );
  // The limit per address is off by default and described in the text.
  expect(names.filter((name) => name !== 'address').toSorted()).toEqual(Object.keys(ROWS).toSorted());
  expect(read(LIMITS)).toContain('`ADDRESS_LIMIT_PER_MINUTE`');
  const missing = Object.values(ROWS).filter((row) => !read(LIMITS).includes(`\n| ${row} `));
  expect(missing).toEqual([]);
});
