// Original file: proto/content/v1/content.proto

import type { Post as _fitness_content_v1_Post, Post__Output as _fitness_content_v1_Post__Output } from '../../../fitness/content/v1/Post.ts';

export interface GetPostsResponse {
  'posts'?: (_fitness_content_v1_Post)[];
}

export interface GetPostsResponse__Output {
  'posts': (_fitness_content_v1_Post__Output)[];
}
