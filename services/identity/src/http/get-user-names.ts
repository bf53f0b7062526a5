import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { queryIds } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { NAMES_MAX } from '../app/accounts/get-user-names.ts';
import type { UseCases } from '../use-cases.ts';

const nameSchema = z
  .object({
    id: z.int().describe('Id of the user'),
    username: z.string().describe('User name, which is unique'),
    first_name: z.string().describe('First name of the user'),
    last_name: z.string().describe('Last name of the user'),
  })
  .meta({ id: 'UserName' });

export const getUserNamesRoute = ({ getUserNames }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/names',
    summary: 'Retrieve the names of users',
    description:
      'Returns the names of the users with these ids, newest first. Unknown and erased users are left out, and so are ' +
      'users whose deletion is scheduled unless you hold `users.view_all`. Requires `users.view_limited` or ' +
      '`users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.view_limited', 'users.view_all'],
    query: z.object({
      ids: queryIds({ max: NAMES_MAX }).meta({
        description: `Ids of the users, separated by commas; at most ${NAMES_MAX}`,
      }),
    }),
    responses: {
      200: z
        .object({ data: z.array(nameSchema).describe('The users that were found, newest first') })
        .meta({ id: 'UserNames' }),
    },
    handle: async ({ caller, query }) => {
      const users = await getUserNames(caller, query.ids);
      const data = users.map(({ _id, username, first_name, last_name }) => ({
        id: _id,
        username,
        first_name,
        last_name,
      }));
      return ok({ data });
    },
  });
