/** Where each document stands in the navigation, and the topic of each decision. */

/**
 * A document belongs to the first group with a pattern that matches its path, at the place of that pattern.
 * @type {readonly { title: string, patterns: readonly RegExp[] }[]}
 */
export const GROUPS = [
  { title: 'Start', patterns: [/^README\.md$/, /^ARCHITECTURE\.md$/, /^CHANGELOG\.md$/] },
  {
    title: 'App developers',
    patterns: [
      'sign-in',
      'requests',
      'deletion',
      'money',
      'store-purchases',
      'media',
      'notifications',
      'oauth',
      '[^/]+',
    ].map((name) => new RegExp(`^docs/guides/apps/${name}\\.md$`)),
  },
  {
    title: 'Operators',
    patterns: ['deploy', 'servers', 'keys', 'watch', 'cases', 'backup', '[^/]+'].map(
      (name) => new RegExp(`^docs/guides/operators/${name}\\.md$`),
    ),
  },
  { title: 'Contributors', patterns: [/^CONTRIBUTING\.md$/, /^docs\/testing\.md$/] },
  {
    title: 'Reference',
    patterns: [/^docs\/performance\.md$/, /^docs\/security\.md$/, /^docs\/access\.md$/, /^docs\/[^/]+\.md$/],
  },
  { title: 'Parts', patterns: [/^gateway\/.*\.md$/, /^services\/.*\.md$/, /^[^/]+\/.*README\.md$/] },
];

/**
 * The numbers of the decisions. A decision stands under one topic.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
export const TOPICS = {
  'Structure of the code': [1, 4, 19, 20, 21, 94],
  'Events and failures': [3, 14, 31, 45, 46, 93, 95, 99],
  'Accounts, deletion and notifications': [5, 6, 8, 9, 10, 85, 86],
  Money: [7, 15, 39, 40],
  'Credentials and access': [2, 11, 32, 33, 35, 37, 38, 50, 53, 54, 56, 60, 61, 70, 82],
  'Lists, search and speed': [71, 72, 75, 84, 101],
  Files: [12, 41],
  'Tests, development and benchmarks': [16, 17, 76, 81, 87],
  'Documents, clients and pages': [77, 78, 79, 80, 88, 92],
};
