import { expect, test } from '@jest/globals';
import { newUsernameField } from './account-fields.ts';

test.each(['09351234567', '9351234567', '989351234567', '00989351234567', '0935-123-4567', '0935.123.4567'])(
  'the username %s reads as a phone number and is refused',
  (username) => expect(newUsernameField.safeParse(username).success).toBe(false),
);

test.each(['1370', 'ali1370', '12345678', 'ali.0935', '0935_ali'])(
  'the username %s does not read as a phone number',
  (username) => expect(newUsernameField.parse(username)).toBe(username),
);

test.each(['ab', 'a'.repeat(51), 'with space', 'نیما', ''])('the username %j is refused', (username) =>
  expect(newUsernameField.safeParse(username).success).toBe(false),
);
