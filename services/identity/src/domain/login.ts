/** The values by which a user signs in. Each belongs to one account. */
import { normalizePhone } from './phone.ts';

export const LOGIN_FIELDS = ['username', 'email', 'phone'] as const;
export type LoginField = (typeof LOGIN_FIELDS)[number];

export const usernameKey = (username: string): string => username.trim().toLowerCase();
export const emailKey = (email: string): string => email.trim().toLowerCase();

const KEY: Readonly<Record<LoginField, (value: string) => string>> = {
  username: usernameKey,
  email: emailKey,
  phone: (phone) => phone,
};

/** `<field>:<value>`, the same for all spellings of a value. A phone must be E.164. */
export const loginKey = (field: LoginField, value: string): string => `${field}:${KEY[field](value)}`;

/** Whether a login with this text is looked up as a phone, so that the owner of the phone would be found instead. */
export const readsAsPhone = (username: string): boolean => normalizePhone(username) !== undefined;

/** The keys that a typed login may refer to, by precedence. A username from 1.0.0 may look like a phone: the phone wins. */
export const loginKeysOf = (login: string): string[] => {
  const phone = normalizePhone(login.trim());
  return [
    ...(phone === undefined ? [] : [loginKey('phone', phone)]),
    loginKey('email', login),
    loginKey('username', login),
  ];
};

/** The same text for all spellings of a login. */
export const canonicalLogin = (login: string): string => normalizePhone(login.trim()) ?? usernameKey(login);

/** Whether a typed login names this account. */
export const isLoginOf = (account: Readonly<Record<LoginField, string>>, login: string): boolean => {
  const keys = loginKeysOf(login);
  return LOGIN_FIELDS.some((field) => keys.includes(loginKey(field, account[field])));
};
