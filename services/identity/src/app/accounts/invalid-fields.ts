/** Checks of account fields that need the clock, the configuration or the stored account. Schemas make all the others. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { compactBankAccount, isBankAccount } from '../../domain/bank-account.ts';
import { isInTheFuture } from '../../domain/birth-date.ts';
import { readsAsPhone } from '../../domain/login.ts';
import { isNameOfAccount } from '../../domain/password-rules.ts';
import { countryOf, isLandline } from '../../domain/phone.ts';
import type { User } from '../../domain/user.ts';
import { isCurrentBankAccount } from './profile-changes.ts';

/** Valid by their schemas, or omitted. */
type Fields = {
  [Field in 'username' | 'email' | 'phone' | 'birth_date' | 'bank_account_number']?: User[Field] | undefined;
} & { password?: string | undefined };

type Problems = Partial<Record<keyof Fields, Message>>;

/** The value that the account has is accepted, even if it would be refused today. */
const isCurrent = {
  username: (user: User, { username }: Fields) => username === user.username,
  phone: (user: User, { phone }: Fields) => phone === user.phone,
  bank_account_number: (user: User, { bank_account_number: typed }: Fields) =>
    isCurrentBankAccount(user, typed ?? ''),
};
type Excusable = keyof typeof isCurrent;

const isNameOf = (password: string, { username = '', email = '', phone = '' }: Fields): boolean =>
  isNameOfAccount(password, { username, email, phone });

/**
 * Returns the invalid fields of a new account, or of changes to the account `userId`: a birth date in the future, a user name that
 * reads as a phone, a phone that receives no SMS, an impossible bank account, and a password that is a name of the account. An SMS
 * to a landline is lost, and one abroad can cost a hundred times as much.
 */
export const createFindInvalidFields = ({
  store,
  clock,
  smsCountries,
}: Pick<Dependencies, 'store' | 'clock' | 'smsCountries'>) => {
  const problemsOf = (fields: Fields): Problems => {
    const { username, phone, birth_date: birthDate, bank_account_number: bankAccount, password } = fields;
    const problems: Problems = {};
    if (birthDate != null && isInTheFuture(birthDate, clock.now()))
      problems.birth_date = message('validation.date_in_the_future');
    if (username !== undefined && readsAsPhone(username))
      problems.username = message('validation.username_is_phone');
    if (phone !== undefined && isLandline(phone)) problems.phone = message('validation.phone_landline');
    if (phone !== undefined && !smsCountries.has(countryOf(phone) ?? ''))
      problems.phone = message('validation.phone_country');
    if (bankAccount != null && !isBankAccount(compactBankAccount(bankAccount)))
      problems.bank_account_number = message('validation.bank_account');
    if (password !== undefined && isNameOf(password, fields))
      problems.password = message('validation.password_is_name');
    return problems;
  };

  return async (fields: Fields, userId?: number): Promise<Problems> => {
    const problems = problemsOf(fields);
    const excusable = (Object.keys(isCurrent) as Excusable[]).filter((name) => problems[name] !== undefined);
    const user = userId === undefined || excusable.length === 0 ? null : await store.users.find(userId);
    for (const name of excusable) if (user !== null && isCurrent[name](user, fields)) delete problems[name];
    return problems;
  };
};
