/** What an account is found by when somebody signs in; no two accounts share one. */
import { normalizePhone } from './phone.ts';

export const LOGIN_FIELDS = ['username', 'email', 'phone'] as const;
export type LoginField = (typeof LOGIN_FIELDS)[number];

const usernameKey = (username: string): string => username.trim().toLowerCase();
export const emailKey = (email: string): string => email.trim().toLowerCase();

const KEY: Readonly<Record<LoginField, (value: string) => string>> = {
  username: usernameKey,
  email: emailKey,
  phone: (phone) => phone,
};

/** `<field>:<value>`, the same for all spellings of a value; a phone is E.164 already. */
export const loginKey = (field: LoginField, value: string): string => `${field}:${KEY[field](value)}`;

/**
 * The keys that a typed login may mean. A number is its phone's owner's, whoever has taken it as a user name; so the
 * first one that exists counts.
 */
export const loginKeysOf = (login: string): string[] => {
  const phone = normalizePhone(login.trim());
  return [
    ...(phone === undefined ? [] : [loginKey('phone', phone)]),
    loginKey('email', login),
    loginKey('username', login),
  ];
};

/** One text for all spellings of a login. */
export const canonicalLogin = (login: string): string => normalizePhone(login.trim()) ?? usernameKey(login);
