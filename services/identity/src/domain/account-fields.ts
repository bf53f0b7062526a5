/** The rules for an account's fields, which are the same in every request and in the configuration. */
import { GENDERS } from '@fitness/contracts/user.ts';
import { machineReadField, nullOnly, oneLine, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { EARLIEST_BIRTH_DATE } from './birth-date.ts';
import { CODE_LENGTHS, type CodePurpose } from './confirmation-code.ts';
import { toLatinDigits } from './digits.ts';
import { readsAsPhone } from './login.ts';
import { isCommonPassword, MIN_PASSWORD_LENGTH } from './password-rules.ts';
import { normalizePhone } from './phone.ts';

const nameField = (title: string) => oneLine(title, z.string().trim().min(1).max(100));

export const firstNameField = nameField('First name');
export const lastNameField = nameField('Last name');

const USERNAME = /^[A-Za-z0-9._-]*$/;
const NOT_A_PHONE =
  'Letters, digits, dots, hyphens and underscores. A phone number in any spelling returns 422.';
const usernameField = z
  .string()
  .min(3)
  .max(50)
  .refine((value) => USERNAME.test(value), withMessage('validation.username'))
  .meta({ pattern: USERNAME.source });

/** Username of a new account. Accounts from 1.0.0 may keep one that reads as a phone; their use case checks changes. */
export const newUsernameField = usernameField
  .refine((value) => !readsAsPhone(value), {
    ...withMessage('validation.username_is_phone'),
    error: 'must not be a phone number',
  })
  .meta({ pattern: USERNAME.source, description: NOT_A_PHONE });

export const emailField = machineReadField()
  .max(254)
  .meta({ format: 'email' })
  .pipe(z.email())
  .meta({ description: 'Email address, which is stored in lower case' });

const PHONE =
  'Phone number in any usual spelling, which is stored as E.164. Without a country code it is Iranian. A number that is ' +
  'certainly a landline, and one of a country to which this installation sends no SMS, return 422.';
/** Accepts any usual spelling; the output is E.164. */
export const phoneField = machineReadField()
  .max(40)
  .refine((value) => normalizePhone(value) !== undefined, withMessage('validation.phone'))
  .transform((value) => normalizePhone(value) ?? value)
  .meta({ description: PHONE });

/** `YYYY-MM-DD HH:MM:SS` in UTC, or ISO 8601 with a time zone. */
const TIMESTAMP =
  /^\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d|T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))$/;

const toInstant = (value: string): Date | undefined => {
  if (!TIMESTAMP.test(value)) return undefined;
  const instant = new Date(value.includes('T') ? value : `${value.replace(' ', 'T')}Z`);
  const isValid = !Number.isNaN(instant.getTime()) && z.iso.date().safeParse(value.slice(0, 10)).success;
  return isValid ? instant : undefined;
};

export const timestampField = z
  .string()
  .max(40)
  .refine((value) => toInstant(value) !== undefined, withMessage('validation.timestamp'))
  .transform((value) => toInstant(value) as Date);

export const tokenNameField = nameField('Name of the token, for you');

export const passwordField = z
  .string()
  .min(MIN_PASSWORD_LENGTH)
  .max(128)
  .refine((password) => !isCommonPassword(password), {
    ...withMessage('validation.common_password'),
    error: 'must not be one of the most common passwords',
  })
  .meta({
    description:
      'New password. Not one of the most common passwords, and not the username, email address or phone number of the account in any spelling.',
  });
/** A password that is only verified: if it is too long for a new password, it is wrong, not invalid. */
export const existingPasswordField = z
  .string()
  .min(1)
  .max(1_000)
  .meta({ description: 'Password of the account' });
export const loginField = machineReadField()
  .min(1)
  .max(255)
  .meta({ description: 'Username, email address or phone number' });

/** Accepts Latin, Persian or Arabic digits; the output is Latin. A deletion's code is judged as sent (specification 4.1). */
export const codeField = (purpose: CodePurpose) => {
  const length = CODE_LENGTHS[purpose];
  const text = purpose === 'deletion' ? z.string() : machineReadField();
  return text
    .refine((code) => code.length === length, withMessage('validation.sms_code', { length }))
    .meta({ minLength: length, maxLength: length })
    .transform(toLatinDigits)
    .meta({ description: 'Code from the SMS, in Latin, Persian or Arabic digits' });
};

/** A second-factor code or a recovery code, in any spelling. */
export const totpField = machineReadField()
  .min(1)
  .max(100)
  .meta({ description: 'Code from the authenticator app, or a recovery code, in any spelling' });

const heightField = z.int().min(50).max(300).nullable().meta({ description: 'Height in centimeters' });
/** A valid date. The use case checks that it is not in the future. */
const birthDateField = z.iso
  .date()
  .refine(
    (date) => date >= EARLIEST_BIRTH_DATE,
    withMessage('validation.date_too_early', { earliest: EARLIEST_BIRTH_DATE }),
  )
  .nullable()
  .meta({ description: 'Date of birth, `YYYY-MM-DD`' });
const genderField = z.enum(GENDERS).nullable().meta({ description: 'Gender; null if it is not given' });
/** The rule that clients of the first release check. The service also accepts spaces, dots and slashes. */
const PUBLISHED_BANK_ACCOUNT = { pattern: '^[A-Za-z0-9-]*$', maxLength: 34 };
/** The number as it is typed. The use case validates it only if it differs from the stored one. */
const bankAccountNumberField = machineReadField()
  .min(1)
  .max(100)
  .meta(PUBLISHED_BANK_ACCOUNT)
  .nullable()
  .meta({
    description:
      'IBAN with valid check digits and the length of its country, or an account number of digits, dots and slashes. Persian ' +
      'and Arabic digits become Latin ones; spaces and dashes are removed. The current number is accepted as it is.',
  });

/** The fields that both the owner of the account and an operator may change. */
export const profileShape = {
  first_name: firstNameField.optional(),
  last_name: lastNameField.optional(),
  username: usernameField.optional().meta({ description: NOT_A_PHONE }),
  email: emailField.optional(),
  phone: phoneField.optional().meta({ description: `${PHONE} The current number is accepted as it is.` }),
  height: heightField.optional(),
  birth_date: birthDateField.optional(),
  gender: genderField.optional(),
  bank_account_number: bankAccountNumberField.optional(),
  trainer_license_image: nullOnly(z.null()).optional().meta({
    description:
      'Only null is accepted. It clears the license document and its review. Upload a document with `POST /media`.',
  }),
};
