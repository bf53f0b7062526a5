/** The tools of `/mcp`. All are read-only, and each sends one GET to the public API. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { PAYMENT_TYPES } from '@fitness/contracts/payment-types.ts';
import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { z } from 'zod';

/** A GET of the public API. `path` is below its prefix. */
export interface ApiRequest {
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  /** The token needs one of these permissions, or none if the list is empty. The API checks permissions again. */
  needs: readonly Permission[];
  input: z.ZodObject;
  output: z.ZodObject;
  /** Undefined for the deletion blockers, for which the API has no route. */
  request: ((input: never) => ApiRequest) | undefined;
}

const defineTool = <Input extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'request'> & {
    input: Input;
    request: ((input: z.output<Input>) => ApiRequest) | undefined;
  },
): Tool => tool as unknown as Tool;

const id = z.int().positive();
const profileType = z.enum([MODEL.gymProfile, MODEL.user, MODEL.gym]);
const order = z
  .enum(['ASC', 'DESC'])
  .describe('Order by id: DESC (newest first, the default) or ASC (oldest first).');
const search = z.string().min(1).max(200).describe('Text to search for. Case is ignored.');
const timestamp = z.string().describe('YYYY-MM-DD HH:MM:SS in UTC.');

const paging = {
  page: z.int().min(1).max(100_000).optional().describe('Page number, from 1.'),
  per_page: z.int().min(1).max(100).optional().describe('Items per page. Default: 30.'),
};

const resource = z.looseObject({});
const list = z.object({ data: z.array(resource), links: resource, meta: resource });

const OWN_PAYMENTS: readonly Permission[] = ['payments.view_own', 'payments.view_all'];
const POSTS: readonly Permission[] = ['posts.view', 'posts.view_all'];

export const TOOLS: readonly Tool[] = [
  defineTool({
    name: 'get_profile',
    title: 'Your profile',
    description:
      'Retrieves the profile of the signed-in user, with contact details, referrals and subscription.',
    needs: [],
    input: z.object({}),
    output: z.object({ user: resource }),
    request: () => ({ path: '/auth/me' }),
  }),
  defineTool({
    name: 'get_balance',
    title: 'Your wallet balance',
    description: 'Retrieves the spendable balance of the signed-in user, in Tooman.',
    needs: OWN_PAYMENTS,
    input: z.object({}),
    output: z.object({ balance: z.number() }),
    request: () => ({ path: '/payments/balance' }),
  }),
  defineTool({
    name: 'list_payments',
    title: 'Your payments',
    description: 'Lists the payments of the signed-in user, newest first. Amounts are in Tooman.',
    needs: OWN_PAYMENTS,
    input: z.object({
      type: z.enum(PAYMENT_TYPES).optional(),
      is_done: z.boolean().optional(),
      rejected: z.boolean().optional().describe('True: only withdrawals that an operator rejected.'),
      from: timestamp.optional(),
      to: timestamp.optional(),
      order: order.optional(),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/payments', query }),
  }),
  defineTool({
    name: 'get_payment',
    title: 'A payment',
    description: 'Retrieves a payment of the signed-in user, with its fees.',
    needs: OWN_PAYMENTS,
    input: z.object({ id }),
    output: z.object({ payment: resource }),
    request: ({ id: payment }) => ({ path: `/payments/${payment}` }),
  }),
  defineTool({
    name: 'list_posts',
    title: 'Posts',
    description: 'Lists posts on the profiles of users and gyms. `type` and `item_id` select one profile.',
    needs: POSTS,
    input: z.object({
      type: profileType.optional(),
      item_id: id.optional().describe('Id of the user or gym. Use it with `type`.'),
      in_blog: z.boolean().optional(),
      search: search.optional(),
      order: order.optional(),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/posts', query }),
  }),
  defineTool({
    name: 'get_post',
    title: 'A post',
    description: 'Retrieves a post, with its media.',
    needs: POSTS,
    input: z.object({ id }),
    output: z.object({ data: resource }),
    request: ({ id: post }) => ({ path: `/posts/${post}` }),
  }),
  defineTool({
    name: 'list_gyms',
    title: 'Gyms',
    description: 'Lists gyms by name, city, majors, owner or distance.',
    needs: [],
    input: z.object({
      search: search.optional(),
      city_id: id.optional(),
      major_ids: z
        .string()
        .regex(/^\d+(,\d+)*$/)
        .optional()
        .describe('Ids of majors, separated by commas.'),
      user_id: id.optional().describe('Id of the owner: the signed-in user, or any user with gyms.view_all.'),
      near: z
        .string()
        .regex(/^-?\d+(\.\d+)?,-?\d+(\.\d+)?$/)
        .optional()
        .describe('Latitude and longitude, separated by a comma. The nearest gyms come first.'),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/gyms', query }),
  }),
  defineTool({
    name: 'get_gym',
    title: 'A gym',
    description: 'Retrieves a gym, with working hours, crowd and rating.',
    needs: [],
    input: z.object({ id }),
    output: z.object({ gym: resource }),
    request: ({ id: gym }) => ({ path: `/gyms/${gym}` }),
  }),
  defineTool({
    name: 'list_training_services',
    title: 'Training services',
    description: 'Lists the training services on offer, boosted ones first. Prices are in Tooman.',
    needs: [],
    input: z.object({
      search: search.optional(),
      user_id: id.optional().describe('Id of the trainer.'),
      min_price: z.int().min(0).optional(),
      max_price: z.int().min(0).optional(),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/training-services', query }),
  }),
  defineTool({
    name: 'get_training_service',
    title: 'A training service',
    description: 'Retrieves a training service, with its trainer.',
    needs: [],
    input: z.object({ id }),
    output: z.object({ data: resource }),
    request: ({ id: service }) => ({ path: `/training-services/${service}` }),
  }),
  defineTool({
    name: 'list_deletion_blockers',
    title: 'What blocks the account deletion',
    description:
      'Lists what the signed-in user must currently settle before their account can be deleted. Changes nothing and sends no SMS.',
    // Blockers reveal the balance and subscriptions.
    needs: ['payments.view_own'],
    input: z.object({}),
    output: z.object({
      can_be_deleted: z.boolean(),
      blockers: z.array(z.looseObject({ code: z.string(), message: z.string() })),
    }),
    request: undefined,
  }),
];

export const mayUse = (caller: Caller, { needs }: Tool): boolean =>
  needs.length === 0 || needs.some((permission) => can(caller, permission));

/** The tool that a message calls; undefined for a batch, another kind of message, or an unknown tool. */
export const calledTool = (body: unknown): Tool | undefined => {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  return method === 'tools/call' ? TOOLS.find(({ name }) => name === params?.name) : undefined;
};
