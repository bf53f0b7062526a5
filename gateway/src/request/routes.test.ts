import { describe, expect, test } from '@jest/globals';
import { findTarget } from './routes.ts';

const serviceOf = (path: string): string | undefined => findTarget(path)?.service;

describe('findTarget', () => {
  test.each([
    ['/api/v1/auth/me', 'identity'],
    ['/api/v1/users/7', 'identity'],
    ['/api/v1/roles', 'identity'],
    ['/api/v1/notifications/3/read', 'identity'],
    ['/api/v1/payments', 'wallet'],
    ['/api/v1/payments/balance', 'wallet'],
    ['/api/v1/payments/deposit/callback', 'wallet'],
    ['/api/v1/payments/store-purchases', 'store-billing'],
    ['/api/v1/payments/store-purchases/refund-queue', 'store-billing'],
    ['/api/v1/payments/buy-premium', 'store-billing'],
    ['/api/v1/payments/boost', 'store-billing'],
    ['/api/v1/gyms/1/working-periods', 'gyms'],
    ['/api/v1/cities', 'gyms'],
    ['/api/v1/majors', 'gyms'],
    ['/api/v1/posts', 'content'],
    ['/api/v1/training-services/4/purchase', 'content'],
    ['/api/v1/trainees', 'content'],
    ['/api/v1/media/5/license.pdf', 'media'],
  ])('%s is routed to %s', (path, service) => {
    expect(serviceOf(path)).toBe(service);
  });

  test.each([
    ['/api/v1/payments/boosters', 'wallet'],
    ['/api/v1/payments/store-purchasesx', 'wallet'],
  ])('a prefix ends where a segment ends: %s', (path, service) => {
    expect(serviceOf(path)).toBe(service);
  });

  test.each([
    '/',
    '/api/v1',
    '/api/v1/',
    '/api/v2/posts',
    '/api/v1/postsx',
    '/api/v1/Posts',
    '/internal/openapi.json',
    '/api/v1/internal/openapi.json',
    '/api/v1/health/ready',
    '/api/v1/metrics',
    'api/v1/posts',
    '*',
    '',
  ])('%j, an unknown path, is not routed', (path) => {
    expect(findTarget(path)).toBeUndefined();
  });

  test.each([
    '/api/v1/../internal/openapi.json',
    '/api/v1/posts/../../../internal/openapi.json',
    '/api/v1/posts/%2e%2e/%2e%2e/%2e%2e/metrics',
    '/api/v1/posts/%2E./metrics',
    '/api/v1/posts/.',
    '/api/v1/posts/..',
    '/api/v1/posts/..%2f..%2f..%2fmetrics',
    '/api/v1/posts/..%5c..%5cmetrics',
    '/api/v1/posts/..\\..\\metrics',
    '/api/v1/posts%2f..%2f..%2f..%2fmetrics',
    '/api/v1/posts//metrics',
    '//api/v1/posts',
    '/api//v1/posts',
    '/api/v1//posts',
    '/api/v1/posts/%00',
    '/api/v1/posts/%0d%0ahost:x',
    '/api/v1/posts/%zz',
    '/api/v1/posts/%c0%ae%c0%ae/metrics',
    '/api/v1/posts/..;/metrics',
  ])('%j, an ambiguous path, is not routed', (path) => {
    expect(findTarget(path)).toBeUndefined();
  });

  test('the path is decoded once, matched decoded and re-encoded', () => {
    expect(findTarget('/api/%761/%70osts/%252e%252e?a=%2e%2e#b')).toEqual({
      service: 'content',
      path: '/api/v1/posts/%252e%252e',
      query: '?a=%2e%2e#b',
    });
  });

  test('one trailing slash is ignored', () => {
    expect(findTarget('/api/v1/posts/?page=2')).toEqual({
      service: 'content',
      path: '/api/v1/posts',
      query: '?page=2',
    });
  });

  test('an encoded question mark or number sign stays part of its segment', () => {
    expect(findTarget('/api/v1/media/5/a%3Fb%23c.pdf')?.path).toBe('/api/v1/media/5/a%3Fb%23c.pdf');
  });

  test('the absolute form is routed by its path, regardless of its host', () => {
    expect(findTarget('http://evil.example/api/v1/posts?x=1')).toEqual(findTarget('/api/v1/posts?x=1'));
    expect(findTarget('http://evil.example?/api/v1/posts')).toBeUndefined();
  });
});
