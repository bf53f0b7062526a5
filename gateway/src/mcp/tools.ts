/** The tools of `/mcp`, all read-only. Each is answered by one GET of the public API. */
import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { z } from 'zod';

/** A GET of the public API; `path` is below its prefix. */
export interface ApiRequest {
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  /** The token needs one of these; none for an empty list. The API checks permissions again. */
  needs: readonly Permission[];
  input: z.ZodObject;
  output: z.ZodObject;
  /** Undefined for the deletion blockers, which the API has no route for. */
  request: ((input: never) => ApiRequest) | undefined;
}

const defineTool = <Input extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'request'> & {
    input: Input;
    request: ((input: z.output<Input>) => ApiRequest) | undefined;
  },
): Tool => tool as unknown as Tool;

const id = z.int().positive();
const profileType = z.enum(['App\\Models\\Gym', 'App\\Models\\User']);
const order = z.enum(['ASC', 'DESC']).describe('By id; newest first (DESC) unless said otherwise.');
const search = z.string().min(1).max(200).describe('A part of the text; upper and lower case are the same.');
const timestamp = z.string().describe('YYYY-MM-DD HH:MM:SS, UTC.');

const paging = {
  page: z.int().min(1).max(100_000).optional().describe('From 1 on.'),
  per_page: z.int().min(1).max(100).optional().describe('30 unless said otherwise.'),
};

const resource = z.looseObject({});
const list = z.object({ data: z.array(resource), links: resource, meta: resource });

const PAYMENT_TYPES = [
  'deposit',
  'income',
  'purchase',
  'withdrawal',
  'commission',
  'store_purchase',
] as const;
const OWN_PAYMENTS: readonly Permission[] = ['payments.view_own', 'payments.view_all'];
const POSTS: readonly Permission[] = ['posts.view', 'posts.view_all'];

export const TOOLS: readonly Tool[] = [
  defineTool({
    name: 'get_profile',
    title: 'Own profile',
    description: 'The profile of the signed-in user, with contact details, referrals and subscription.',
    needs: [],
    input: z.object({}),
    output: z.object({ user: resource }),
    request: () => ({ path: '/auth/me' }),
  }),
  defineTool({
    name: 'get_balance',
    title: 'Wallet balance',
    description: 'The spendable balance of the signed-in user, in Tooman.',
    needs: OWN_PAYMENTS,
    input: z.object({}),
    output: z.object({ balance: z.number() }),
    request: () => ({ path: '/payments/balance' }),
  }),
  defineTool({
    name: 'list_payments',
    title: 'Payments',
    description: 'Payments of the signed-in user, newest first. Amounts are in Tooman.',
    needs: OWN_PAYMENTS,
    input: z.object({
      type: z.enum(PAYMENT_TYPES).optional(),
      is_done: z.boolean().optional(),
      rejected: z.boolean().optional().describe('Withdrawals that an operator has refused.'),
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
    title: 'One payment',
    description: 'One payment of the signed-in user, with its fees.',
    needs: OWN_PAYMENTS,
    input: z.object({ id }),
    output: z.object({ payment: resource }),
    request: ({ id: payment }) => ({ path: `/payments/${payment}` }),
  }),
  defineTool({
    name: 'list_posts',
    title: 'Posts',
    description: 'Posts on the profiles of users and gyms; with a type and an item id, of one profile.',
    needs: POSTS,
    input: z.object({
      type: profileType.optional(),
      item_id: id.optional().describe('The id of the user or gym; with `type`.'),
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
    title: 'One post',
    description: 'One post, with its media.',
    needs: POSTS,
    input: z.object({ id }),
    output: z.object({ data: resource }),
    request: ({ id: post }) => ({ path: `/posts/${post}` }),
  }),
  defineTool({
    name: 'list_gyms',
    title: 'Gyms',
    description: 'Gyms by name, city, majors, owner or distance.',
    needs: [],
    input: z.object({
      search: search.optional(),
      city_id: id.optional(),
      major_ids: z
        .string()
        .regex(/^\d+(,\d+)*$/)
        .optional()
        .describe('Ids of majors, separated by commas.'),
      user_id: id.optional().describe('The owner: you, or anyone with gyms.view_all.'),
      near: z
        .string()
        .regex(/^-?\d+(\.\d+)?,-?\d+(\.\d+)?$/)
        .optional()
        .describe('Latitude and longitude, separated by a comma; nearest first.'),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/gyms', query }),
  }),
  defineTool({
    name: 'get_gym',
    title: 'One gym',
    description: 'One gym, with working hours, crowd and rating.',
    needs: [],
    input: z.object({ id }),
    output: z.object({ gym: resource }),
    request: ({ id: gym }) => ({ path: `/gyms/${gym}` }),
  }),
  defineTool({
    name: 'list_training_services',
    title: 'Training services',
    description: 'Training services on offer, boosted ones first. Prices are in Tooman.',
    needs: [],
    input: z.object({
      search: search.optional(),
      user_id: id.optional().describe('The trainer.'),
      min_price: z.int().min(0).optional(),
      max_price: z.int().min(0).optional(),
      ...paging,
    }),
    output: list,
    request: (query) => ({ path: '/training-services', query }),
  }),
  defineTool({
    name: 'get_training_service',
    title: 'One training service',
    description: 'One training service, with its trainer.',
    needs: [],
    input: z.object({ id }),
    output: z.object({ data: resource }),
    request: ({ id: service }) => ({ path: `/training-services/${service}` }),
  }),
  defineTool({
    name: 'list_deletion_blockers',
    title: 'Blockers of the account deletion',
    description:
      'What the signed-in user must settle before the account can be deleted, as of now. Asking changes nothing and sends no SMS.',
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

/** The tool that a message calls; undefined for a batch, another message, and an unknown tool. */
export const calledTool = (body: unknown): Tool | undefined => {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  return method === 'tools/call' ? TOOLS.find(({ name }) => name === params?.name) : undefined;
};
