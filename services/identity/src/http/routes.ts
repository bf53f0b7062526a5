/** Every route of identity. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { Limits } from '../domain/limits.ts';
import type { UseCases } from '../use-cases.ts';
import { deleteDeleteAccountRoute } from './delete-delete-account.ts';
import { deleteGrantRoute } from './delete-grant.ts';
import { deleteNotificationDeviceRoute } from './delete-notification-device.ts';
import { deleteSecondFactorRoute } from './delete-second-factor.ts';
import { deleteSessionRoute } from './delete-session.ts';
import { deleteTokenRoute } from './delete-token.ts';
import { deleteUserRoute } from './delete-user.ts';
import { deleteUserSecondFactorRoute } from './delete-user-second-factor.ts';
import { deleteUserSessionRoute } from './delete-user-session.ts';
import { getAuditLogRoute } from './get-audit-log.ts';
import { getGrantsRoute } from './get-grants.ts';
import { getLicenseReviewsRoute } from './get-license-reviews.ts';
import { getMeRoute } from './get-me.ts';
import { getNotificationPreferencesRoute } from './get-notification-preferences.ts';
import { getNotificationsRoute } from './get-notifications.ts';
import { getRolesRoute } from './get-roles.ts';
import { getSessionsRoute } from './get-sessions.ts';
import { getTokensRoute } from './get-tokens.ts';
import { getUserRoute } from './get-user.ts';
import { getUserDeletionBlockersRoute } from './get-user-deletion-blockers.ts';
import { getUserNamesRoute } from './get-user-names.ts';
import { getUserSessionsRoute } from './get-user-sessions.ts';
import { getUsersRoute } from './get-users.ts';
import { postDeleteAccountRoute } from './post-delete-account.ts';
import { postForgotPasswordRoute } from './post-forgot-password.ts';
import { postLoginRoute } from './post-login.ts';
import { postLogoutRoute } from './post-logout.ts';
import { postNotificationDeviceRoute } from './post-notification-device.ts';
import { postNotificationReadRoute } from './post-notification-read.ts';
import { postPhoneConfirmRoute } from './post-phone-confirm.ts';
import { postRegisterRoute } from './post-register.ts';
import { postResetPasswordRoute } from './post-reset-password.ts';
import { postSecondFactorRoute } from './post-second-factor.ts';
import { postSessionLimitRoute } from './post-session-limit.ts';
import { postTokenRoute } from './post-token.ts';
import { putChangePasswordRoute } from './put-change-password.ts';
import { putMeRoute } from './put-me.ts';
import { putNotificationPreferencesRoute } from './put-notification-preferences.ts';
import { putRoleRoute } from './put-role.ts';
import { putUserRoute } from './put-user.ts';

interface RouteOptions {
  /** The public origin, for links in lists. */
  baseUrl: string;
  limits: Limits;
}

export const createRoutes = (useCases: UseCases, { baseUrl, limits }: RouteOptions): Route[] => [
  postRegisterRoute(useCases, limits),
  postLoginRoute(useCases),
  postLogoutRoute(useCases),
  getMeRoute(useCases),
  putMeRoute(useCases),
  postPhoneConfirmRoute(useCases),
  putChangePasswordRoute(useCases),
  postForgotPasswordRoute(useCases),
  postResetPasswordRoute(useCases),
  postDeleteAccountRoute(useCases, limits),
  deleteDeleteAccountRoute(useCases),
  getTokensRoute(useCases, baseUrl),
  postTokenRoute(useCases),
  deleteTokenRoute(useCases),
  postSessionLimitRoute(useCases),
  getSessionsRoute(useCases, baseUrl),
  deleteSessionRoute(useCases),
  getGrantsRoute(useCases, baseUrl),
  deleteGrantRoute(useCases),
  postSecondFactorRoute(useCases),
  deleteSecondFactorRoute(useCases),
  getUsersRoute(useCases, baseUrl),
  getLicenseReviewsRoute(useCases, baseUrl),
  getUserNamesRoute(useCases),
  getUserRoute(useCases),
  putUserRoute(useCases),
  deleteUserRoute(useCases),
  deleteUserSecondFactorRoute(useCases),
  getUserSessionsRoute(useCases, baseUrl),
  deleteUserSessionRoute(useCases),
  getUserDeletionBlockersRoute(useCases),
  getRolesRoute(useCases, baseUrl),
  putRoleRoute(useCases),
  getAuditLogRoute(useCases, baseUrl),
  getNotificationsRoute(useCases, baseUrl),
  postNotificationReadRoute(useCases),
  getNotificationPreferencesRoute(useCases),
  putNotificationPreferencesRoute(useCases),
  postNotificationDeviceRoute(useCases),
  deleteNotificationDeviceRoute(useCases),
];
