/** Every public route of this service. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { AdministerUsers } from '../app/administer-users.ts';
import type { BrowseUsers } from '../app/browse-users.ts';
import type { DeleteAccount } from '../app/delete-account.ts';
import type { DeleteUser } from '../app/delete-user.ts';
import type { ManageRoles } from '../app/manage-roles.ts';
import type { Notifications } from '../app/notifications.ts';
import type { PersonalTokens } from '../app/personal-tokens.ts';
import type { Profile } from '../app/profile.ts';
import type { Register } from '../app/register.ts';
import type { ResetPassword } from '../app/reset-password.ts';
import type { SignIn } from '../app/sign-in.ts';
import type { SignOut } from '../app/sign-out.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import { deleteDeleteAccount } from './delete-delete-account.ts';
import { deleteToken } from './delete-token.ts';
import { deleteUser } from './delete-user.ts';
import { getMe } from './get-me.ts';
import { getNotifications } from './get-notifications.ts';
import { getRoles } from './get-roles.ts';
import { getTokens } from './get-tokens.ts';
import { getUser } from './get-user.ts';
import { getUsers } from './get-users.ts';
import { postDeleteAccount } from './post-delete-account.ts';
import { postForgotPassword } from './post-forgot-password.ts';
import { postLogin } from './post-login.ts';
import { postLogout } from './post-logout.ts';
import { postNotificationRead } from './post-notification-read.ts';
import { postRegister } from './post-register.ts';
import { postResetPassword } from './post-reset-password.ts';
import { postToken } from './post-token.ts';
import { putChangePassword } from './put-change-password.ts';
import { putMe } from './put-me.ts';
import { putRole } from './put-role.ts';
import { putUser } from './put-user.ts';

export interface RouteParts {
  /** The origin that clients use, for links. */
  baseUrl: string;
  presenter: UserPresenter;
  register: Register;
  signIn: SignIn;
  signOut: SignOut;
  profile: Profile;
  personalTokens: PersonalTokens;
  browseUsers: BrowseUsers;
  administerUsers: AdministerUsers;
  deleteUser: DeleteUser;
  manageRoles: ManageRoles;
  deleteAccount: DeleteAccount;
  resetPassword: ResetPassword;
  notifications: Notifications;
}

export const createRoutes = (parts: RouteParts): Route[] => [
  postRegister(parts.register, parts.presenter),
  postLogin(parts.signIn, parts.presenter),
  postLogout(parts.signOut),
  getMe(parts.profile, parts.presenter),
  putMe(parts.profile, parts.presenter),
  putChangePassword(parts.profile),
  postForgotPassword(parts.resetPassword),
  postResetPassword(parts.resetPassword),
  postDeleteAccount(parts.deleteAccount),
  deleteDeleteAccount(parts.deleteAccount, parts.presenter),
  getTokens(parts.personalTokens, parts.baseUrl),
  postToken(parts.personalTokens),
  deleteToken(parts.personalTokens),
  getUsers(parts.browseUsers, parts.presenter, parts.baseUrl),
  getUser(parts.browseUsers, parts.presenter),
  putUser(parts.administerUsers, parts.presenter),
  deleteUser(parts.deleteUser),
  getRoles(parts.manageRoles, parts.baseUrl),
  putRole(parts.manageRoles),
  getNotifications(parts.notifications, parts.baseUrl),
  postNotificationRead(parts.notifications),
];
