/** Posts with pictures. Each step first reads the current state, so it can be repeated. */
import { readFile } from 'node:fs/promises';
import type { Schemas } from '@fitness/client';
import type { Account } from './account.ts';
import type { DemoApi } from './api.ts';
import type { DemoPost } from './people.ts';

/** Publishes posts; a post stays a draft until its picture is stored. */
export const publishPosts = async (
  api: DemoApi,
  { token, user }: Account,
  posts: readonly DemoPost[],
): Promise<void> => {
  const profile = { profile_type: 'App\\Models\\User', profile_id: user.id };
  const own = new URLSearchParams({ type: profile.profile_type, item_id: String(user.id) });
  const { data } = await api.read<Schemas['PostList']>('GET', `/posts?${own}`, { token });
  for (const { title, content, picture } of posts) {
    const body = { ...profile, title, content, is_draft: true };
    const post =
      data.find((other) => other.title === title) ??
      (await api.read<Schemas['PostResponse']>('POST', '/posts', { token, body })).data;
    if (post.media.length === 0) {
      const form = new FormData();
      form.append('attachable_type', 'App\\Models\\Posts\\Post');
      form.append('attachable_id', String(post.id));
      const content = await readFile(new URL(`../pictures/${picture}`, import.meta.url));
      form.append('file', new Blob([content], { type: 'image/jpeg' }), picture);
      await api.read('POST', '/media', { token, body: form });
    }
    if (post.is_draft) await api.read('PUT', `/posts/${post.id}`, { token, body: { is_draft: false } });
  }
};
