/** Rules for new passwords, except for the length, which the request field checks. */
import { dictionary } from '@zxcvbn-ts/language-common';
import { toLatinDigits } from './digits.ts';
import { emailKey, usernameKey } from './login.ts';
import { normalizePhone } from './phone.ts';
import type { User } from './user.ts';

export const MIN_PASSWORD_LENGTH = 10;

const COMMON_PASSWORDS_COUNT = 10_000;

/** The list is ordered by frequency. Shorter passwords are refused because of their length. */
const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  dictionary['passwords-common']
    .slice(0, COMMON_PASSWORDS_COUNT)
    .map((password) => String(password).toLowerCase())
    .filter(({ length }) => length >= MIN_PASSWORD_LENGTH),
);

const comparable = (password: string): string => password.normalize('NFKC').toLowerCase();

export const isCommonPassword = (password: string): boolean => COMMON_PASSWORDS.has(comparable(password));

/** Whether the password is the username, email or phone of its account, in any spelling. */
export const isNameOfAccount = (
  password: string,
  { username, email, phone }: Pick<User, 'username' | 'email' | 'phone'>,
): boolean => {
  const text = comparable(password.trim());
  return text === usernameKey(username) || text === emailKey(email) || isPhone(password, phone);
};

const isPhone = (password: string, phone: string): boolean => {
  if (normalizePhone(password.trim()) === phone) return true;
  const digits = toLatinDigits(password).replaceAll(/[\s()+-]/g, '');
  return /^\d+$/.test(digits) && digits.length >= MIN_PASSWORD_LENGTH && phone.endsWith(digits);
};
