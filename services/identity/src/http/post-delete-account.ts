import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { accepted, defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { ALL_TOKEN_KINDS } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { codeField, existingPasswordField } from '../domain/account-fields.ts';
import type { Limits } from '../domain/limits.ts';
import type { UseCases } from '../use-cases.ts';
import { deletionBlockedSchema } from './deletion-blocked.ts';

/** One schema for 200 and 202, because client generators use the first schema of an operation for every success. */
const accountDeletionSchema = z
  .object({
    message: z.string(),
    confirmation_required: z.literal(true).optional().describe('True when a code was sent, with 200 alone'),
    deletion_requested_at: timestampSchema
      .optional()
      .describe('When the deletion was requested, with 202 alone'),
    deletion_scheduled_at: timestampSchema
      .optional()
      .describe('When the account will be erased, with 202 alone'),
  })
  .meta({ id: 'AccountDeletionResponse' });

export const postDeleteAccountRoute = (
  { armDeletion, commitDeletion }: UseCases,
  { accountCodes }: Pick<Limits, 'accountCodes'>,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/delete-account',
    summary: 'Schedule the deletion of your account',
    description:
      'Schedules the deletion of your account in two phases, both of which require the current password:\n\n' +
      '1. Without `confirmation_code`, a six-digit code is sent to your phone by SMS (200). It is valid for ten ' +
      'minutes, and a later code replaces it.\n' +
      '2. With `confirmation_code`, the deletion is scheduled (202). Every token of the account is revoked, ' +
      'including the one of this request: discard it, and do not sign out. The account is erased after ' +
      '`deletion_scheduled_at`. Until then you can sign in and cancel with `DELETE /auth/delete-account`.\n\n' +
      'While a deletion is scheduled, the first phase returns 202 with its dates and sends no SMS. While ' +
      'anything blocks the deletion, both phases return 409 with every blocker, and no SMS is sent. A code that ' +
      'is not accepted returns 422 under `confirmation_code`, whatever the reason. When the SMS cannot be sent, the ' +
      'response is 500 and nothing is scheduled.',
    tag: 'auth',
    pages: ['account_deletion'],
    access: 'user',
    // A valid token is the only authorization (specification 5, rule 2); the password confirms the user's intent.
    tokenKinds: ALL_TOKEN_KINDS,
    limit: accountCodes,
    errorCodes: { 409: ['account_deletion_blocked'] },
    body: z.object({
      current_password: existingPasswordField,
      confirmation_code: codeField('deletion').optional(),
    }),
    responses: {
      200: accountDeletionSchema,
      202: accountDeletionSchema,
      409: deletionBlockedSchema,
      500: z.object({ message: z.string() }),
    },
    handle: async ({ caller, body, locale, clientAddress, t }) => {
      const { current_password: password, confirmation_code: code } = body;
      if (code !== undefined) {
        const schedule = await commitDeletion(caller.userId, { password, code, locale, clientAddress });
        return accepted({ message: t(message('deletion.scheduled')), ...schedule });
      }
      const result = await armDeletion(caller.userId, { password, locale, clientAddress });
      if (result.state === 'already_pending') {
        return accepted({ message: t(message('deletion.scheduled')), ...result.schedule });
      }
      return ok<z.input<typeof accountDeletionSchema>>({
        message: t(message('deletion.code_sent')),
        confirmation_required: true,
      });
    },
  });
