/** Where each document stands in the navigation. */

/**
 * A document belongs to the first group with a matching pattern. Within the group, documents follow the order of the patterns.
 * @type {readonly { title: string, patterns: readonly RegExp[] }[]}
 */
export const GROUPS = [
  {
    title: 'Start',
    patterns: [/^README\.md$/, /^docs\/guides\/run\.md$/, /^ARCHITECTURE\.md$/, /^CHANGELOG\.md$/],
  },
  {
    title: 'App developers',
    patterns: [
      'sample',
      'sign-in',
      'requests',
      'retries',
      'limits',
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
    patterns: [
      'deploy',
      'compose',
      'kubernetes',
      'upgrade',
      'servers',
      'keys',
      'watch',
      'cases',
      'commands',
      'backup',
      '[^/]+',
    ].map((name) => new RegExp(`^docs/guides/operators/${name}\\.md$`)),
  },
  {
    title: 'Contributors',
    patterns: [/^CONTRIBUTING\.md$/, /^SECURITY\.md$/, /^docs\/testing\.md$/, /^docs\/writing\.md$/],
  },
  { title: 'Recipes', patterns: [/^docs\/recipes\/README\.md$/, /^docs\/recipes\/.+\.md$/] },
  {
    title: 'Reference',
    patterns: [
      /^docs\/performance\.md$/,
      /^docs\/security\.md$/,
      /^docs\/access\.md$/,
      /^docs\/[^/]+\.md$/,
      /^docs\/adr\/README\.md$/,
    ],
  },
  { title: 'Parts', patterns: [/^gateway\/.*\.md$/, /^services\/.*\.md$/, /^[^/]+\/.*README\.md$/] },
];
