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

/** Whether a login of this text is looked up as a phone. Whoever has that phone would be found instead of the user name. */
export const readsAsPhone = (username: string): boolean => normalizePhone(username) !== undefined;

/** The keys that a typed login may mean, by precedence. User names of 1.0.0 may read as a phone number; the phone wins. */
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

/** Whether a typed login names this account. */
export const isLoginOf = (account: Readonly<Record<LoginField, string>>, login: string): boolean => {
  const keys = loginKeysOf(login);
  return LOGIN_FIELDS.some((field) => keys.includes(loginKey(field, account[field])));
};
