import { ANY_TOKEN } from '@fitness/shared/caller.ts';
import { message } from '@fitness/shared/error.ts';
import { accepted, defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { CODE_BUDGET } from '../app/code-budget.ts';
import type { DeleteAccount } from '../app/delete-account.ts';
import { CODE_LENGTH } from '../domain/confirmation-code.ts';
import { blockedSchema } from './blocked.ts';

const armed = z.object({ message: z.string(), confirmation_required: z.literal(true) });
const scheduled = z.object({
  message: z.string(),
  deletion_requested_at: z.string(),
  deletion_scheduled_at: z.string(),
});

export const postDeleteAccount = (deleteAccount: DeleteAccount): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/delete-account',
    summary: 'Schedule the deletion of the own account',
    description:
      'Two phases: without `confirmation_code` a code is sent by SMS; with it the deletion is scheduled.',
    tag: 'auth',
    access: 'user',
    // A valid token and nothing else (specification 5, rule 2); what makes it the user's own wish is the password.
    tokenKinds: ANY_TOKEN,
    limit: CODE_BUDGET,
    body: z.object({
      current_password: z.string().min(1).max(1_000),
      confirmation_code: z.string().length(CODE_LENGTH).optional(),
    }),
    responses: { 200: armed, 202: scheduled, 409: blockedSchema, 500: z.object({ message: z.string() }) },
    handle: async ({ caller, body, locale, t }) => {
      const password = body.current_password;
      const code = body.confirmation_code;
      if (code !== undefined) {
        const schedule = await deleteAccount.commit(caller.userId, { password, code });
        return accepted({ message: t(message('deletion.scheduled')), ...schedule });
      }
      const outcome = await deleteAccount.arm(caller.userId, { password, locale });
      if (outcome.state === 'code_sent') {
        return ok({ message: t(message('deletion.code_sent')), confirmation_required: true });
      }
      return accepted({ message: t(message('deletion.scheduled')), ...outcome.schedule });
    },
  });
