import { normalizePhone } from './phone.ts';

export const usernameKey = (username: string): string => username.trim().toLowerCase();
export const emailKey = (email: string): string => email.trim().toLowerCase();

/** What a login may be; an account is found by any of them. */
export interface LoginKeys {
  username: string;
  email: string;
  phone: string | undefined;
}

export const loginKeys = (login: string): LoginKeys => ({
  username: usernameKey(login),
  email: emailKey(login),
  phone: normalizePhone(login.trim()),
});
