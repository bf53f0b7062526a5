/** English, and the source of the type of every other catalogue. */
export const catalogue = {
  /** Of the writing: `ltr` or `rtl`. */
  'language.name': 'English',
  'language.direction': 'ltr',

  'error.bad_request': 'The request could not be understood.',
  'error.malformed_json': 'The body is not valid JSON.',
  'error.unauthenticated': 'Unauthenticated.',
  'error.forbidden': 'You do not have permission to do this.',
  'error.not_found': 'Not found.',
  'error.method_not_allowed': 'This method is not allowed here.',
  'error.request_timeout': 'The request arrived too slowly.',
  'error.conflict': 'The request conflicts with the current state.',
  'error.too_large': 'The body is too large.',
  'error.unsupported_media_type': 'The body must be JSON.',
  'error.form_expected': 'The body must be a form with a file (multipart/form-data).',
  'error.validation': 'The given data was invalid.',
  'error.rate_limited': 'Too many requests. Please try again later.',
  'error.internal': 'Something went wrong on our side.',
  'error.unavailable': 'A part of the service is not reachable right now. Please try again shortly.',
  'error.overloaded': 'Too many requests are being answered right now. Please try again shortly.',
  'error.outcome_unknown':
    'The connection to a part of the service was lost, so that the outcome of your request is unknown. Please check, or try again shortly.',

  'validation.required': 'This field is required.',
  'validation.type.string': 'This field must be a string.',
  'validation.type.number': 'This field must be a number.',
  'validation.type.integer': 'This field must be a whole number.',
  'validation.type.boolean': 'This field must be true or false.',
  'validation.type.array': 'This field must be a list.',
  'validation.type.object': 'This field must be an object.',
  'validation.type.null': 'Only null is accepted here.',
  'validation.type.other': 'This field has the wrong type.',
  'validation.min_length': 'This field must have at least {min} characters.',
  'validation.max_length': 'This field must not have more than {max} characters.',
  'validation.exact_length': 'This field must have exactly {length} characters.',
  'validation.min_value': 'This field must be at least {min}.',
  'validation.max_value': 'This field must be at most {max}.',
  'validation.min_items': 'This list must have at least {min} entries.',
  'validation.max_items': 'This list must not have more than {max} entries.',
  'validation.empty_file': 'This file is empty.',
  'validation.file_type': 'Only JPEG, PNG, WebP, GIF, PDF and MP4 files are accepted.',
  'validation.file_size': 'This file must not be larger than {max} MiB.',
  'validation.image_unreadable': 'This image is damaged and cannot be read.',
  'validation.image_pixels': 'This image must not have more than {max} megapixels.',
  'validation.one_file': 'Only one file can be uploaded at a time.',
  'validation.max_files': 'No more than {max} files can be attached here.',
  'validation.format': 'This field has the wrong form.',
  'validation.email': 'This field must be an e-mail address.',
  'validation.phone': 'This field must be a phone number.',
  'validation.phone_country': 'Phone numbers of this country are not accepted.',
  'validation.common_password': 'This password is one of the most common ones.',
  'validation.password_is_name': 'The password must not be your user name, e-mail or phone number.',
  'validation.date': 'This field must be a date of the form YYYY-MM-DD.',
  'validation.date_in_the_future': 'This date must not be in the future.',
  'validation.timestamp': 'This field must be a date and time.',
  'validation.time': 'This field must be a time of the form HH:MM.',
  'validation.username': 'Only letters, digits, dots, hyphens and underscores are allowed.',
  'validation.one_of': 'This field must be one of: {values}.',
  'validation.invalid': 'This value is not valid.',
  'validation.taken': 'This value is already taken.',
  'validation.unknown': 'This refers to something that does not exist.',
  'validation.cursor': 'This cursor is not valid.',

  'idempotency.other_body': 'This key was already used with a different request.',
  'idempotency.running': 'A request with this key is still being processed.',

  'auth.wrong_login': 'These credentials do not match our records.',
  'auth.wrong_password': 'The password is not correct.',
  'auth.password_changed': 'Your password was changed. You are signed out everywhere else.',
  'auth.reset_requested': 'If an account matches, a code was sent to its phone.',
  'auth.code_rejected': 'The code is not valid.',
  'auth.password_reset': 'Your password was reset. Please sign in again.',
  'auth.phone_sms_failed': 'The code could not be sent to the new phone. Nothing was changed.',
  'auth.phone_taken': 'Another account has this phone number by now. Please change to another one.',
  'auth.unknown_referral_code': 'This referral code does not exist.',
  'auth.permissions_beyond_token':
    'A token cannot be given more than the permissions that you hold yourself.',
  'auth.expires_in_the_past': 'This moment has already passed.',
  'auth.totp_required': 'Enter the code of your authenticator app, or a recovery code.',
  'auth.totp_rejected': 'The code is not correct.',
  'auth.totp_used': 'This code was used already. Wait for the next one.',
  'auth.second_factor_not_begun':
    'Ask for a new secret first: there is none, or it is older than ten minutes.',
  'auth.second_factor_armed': 'A second factor is set up already. Remove it first.',
  'auth.second_factor_required':
    'Roles with operator permissions can be used only with a second factor. Set one up (POST /auth/second-factor) and try again.',

  'oauth.unnamed': 'An app without a name',
  'oauth.cancel': 'Cancel',
  'oauth.back': 'Back to the app',
  'oauth.login.title': 'Sign in to connect {client}',
  'oauth.login.lead': '{client} asks for access to your account. Sign in to see what it wants to do.',
  'oauth.login.login': 'User name, e-mail or phone',
  'oauth.login.password': 'Password',
  'oauth.login.code': 'Code of your authenticator app, or a recovery code',
  'oauth.login.submit': 'Sign in',
  'oauth.consent.title': 'Allow {client} to use your account?',
  'oauth.consent.account': 'You are signed in as {username}.',
  'oauth.consent.lead': '{client} will be able to:',
  'oauth.consent.not_lead': '{client} will not be able to:',
  'oauth.consent.until': 'Access ends after a year at the latest, and at once when you change your password.',
  'oauth.consent.profile':
    'see your profile, with your e-mail address, phone number, bank account number and licence documents',
  'oauth.consent.destination':
    'You will return to {host}. We do not know who is behind this app: allow it only if you have just started this yourself.',
  'oauth.consent.allow': 'Allow',
  'oauth.consent.deny': 'Do not allow',
  'oauth.pending.title': 'Your account is about to be deleted',
  'oauth.pending.body':
    'The deletion is scheduled for {deletion_scheduled_at} (UTC). No app can be connected until you sign in to your account and cancel it.',
  'oauth.expired.title': 'This page is no longer valid',
  'oauth.expired.body': 'Go back to the app and start again.',
  'oauth.refused.title': 'The app could not be connected',
  'oauth.refused.body': 'Its request was refused ({code}). Go back to the app and start again.',
  'oauth.cannot.credentials':
    'see or change your password, or change your e-mail address, phone number, bank account or second factor',
  'oauth.cannot.delete': 'delete your account without your password and the code that is sent to your phone',
  'oauth.cannot.move_money': 'pay money into your wallet or withdraw any, or buy training services',
  'oauth.cannot.see_money': 'see your balance or your payments',
  'oauth.cannot.spend': 'spend the money in your wallet',
  'oauth.cannot.publish': 'create, change or delete gyms, posts or training services',
  'oauth.scope.users.view_limited': 'look for other users',
  'oauth.scope.users.view_all': 'see everything about all users, their contact details included',
  'oauth.scope.gyms.create': 'create gyms in your name',
  'oauth.scope.gyms.update': 'change and delete your gyms',
  'oauth.scope.gyms.update_any': 'change and delete any gym',
  'oauth.scope.gyms.transfer_ownership': 'give a gym to another owner',
  'oauth.scope.gyms.approve_license': 'review the licences of gyms',
  'oauth.scope.gyms.view_all': 'see everything about all gyms, their licence documents included',
  'oauth.scope.posts.create': 'write, change and delete posts in your name',
  'oauth.scope.posts.view': 'read posts, your drafts included',
  'oauth.scope.posts.view_all': 'read all posts, the drafts of others included',
  'oauth.scope.posts.update_any': 'change and delete any post',
  'oauth.scope.training_services.create': 'offer, change and delete training services in your name',
  'oauth.scope.training_services.update_any': 'change and delete any training service',
  'oauth.scope.payments.view_own':
    'see your balance, your payments and what stands in the way of deleting your account',
  'oauth.scope.payments.view_all': 'see the balances and payments of all users',
  'oauth.scope.payments.settle_withdrawals': 'pay out or reject withdrawals',
  'oauth.scope.payments.resolve_disputes': 'resolve disputed deposits and purchases to be refunded',
  'oauth.scope.payments.buy_premium': 'buy a premium subscription with the money in your wallet',
  'oauth.scope.payments.boost_own': 'buy boosts for what is yours with the money in your wallet',
  'oauth.scope.payments.boost_all': 'buy boosts for anything with the money in your wallet',

  'users.no_trainer_license': 'There is no licence document to review.',
  'roles.last_manager': 'There would be nobody left who can manage roles.',
  'roles.administrators_keep_all': 'Administrators keep every permission: nobody else could give it back.',

  'deletion.code_sent': 'A confirmation code was sent to your phone. Send it to confirm the deletion.',
  'deletion.scheduled': 'Your account is scheduled for deletion. Sign in before the date to cancel it.',
  'deletion.cancelled': 'Your account is active. Nothing is scheduled for deletion.',
  'deletion.blocked': 'Your account cannot be deleted yet.',
  'deletion.code_rejected': 'The confirmation code is not valid.',
  'deletion.sms_failed': 'The confirmation code could not be sent. Nothing was scheduled.',

  'blocker.gym_ownership': 'You own {count} gym(s). Transfer or delete them first.',
  'blocker.unsettled_balance': 'Your wallet balance is {balance} Tooman. It must be zero.',
  'blocker.pending_withdrawal': '{count} withdrawal(s) are not settled yet.',
  'blocker.active_premium': 'Your premium subscription runs until {expires_at}.',
  'blocker.active_trainees': '{count} trainee(s) of your training services are not delivered yet.',

  'notification.email.mandatory': 'This e-mail cannot be switched off.',
  'notification.email.footer':
    'You get this e-mail because you have an account. In the app you can choose which ones you get.',
  'account_deletion.title': 'Delete your account',
  'account_deletion.steps': 'How it works',
  'account_deletion.step.login': 'Sign in on this page.',
  'account_deletion.step.settle':
    'Settle what blocks the deletion, such as money in your wallet. The page lists it.',
  'account_deletion.step.confirm': 'Confirm with your password and the code that we send to your phone.',
  'account_deletion.step.wait':
    'The page shows the date of the deletion. Until then you can cancel it here. After that the account cannot be restored.',
  'account_deletion.data': 'What happens to your data',
  'account_deletion.data.deleted':
    'On that date we delete your profile, contact details, log-ins, posts, training services, files and notifications.',
  'account_deletion.data.kept':
    'Payments and purchases stay in the books without your name, because the accounts of others depend on them.',
  'account_deletion.session_over':
    'You are no longer signed in on this page. Sign in again to see the state of your account.',
  'account_deletion.stale': 'This page is no longer valid, or your browser does not accept its cookie.',
  'account_deletion.reopen': 'Open the page again',
  'account_deletion.sign_out': 'Sign out',
  'account_deletion.blocked': 'Your account cannot be deleted until this is settled:',
  'account_deletion.free': 'Nothing blocks the deletion.',
  'account_deletion.unchecked': 'What blocks the deletion is checked when you ask for the code.',
  'account_deletion.again': 'Check again',
  'account_deletion.settle.gym_ownership':
    'Open the gym in the app. Transfer it to somebody else, or delete it.',
  'account_deletion.settle.unsettled_balance':
    'Open your wallet in the app. Withdraw the money to your bank account, or spend it. If the balance is below zero, deposit what is missing.',
  'account_deletion.settle.pending_withdrawal':
    'Wait until the withdrawal is paid out or rejected. You see its state among your payments in the app.',
  'account_deletion.settle.active_premium':
    'Wait until the subscription has ended. If it renews by itself in an app store, cancel it there.',
  'account_deletion.settle.active_trainees':
    'Deliver the training services that were bought from you: mark each trainee in the app as delivered.',
  'account_deletion.send.lead':
    'Enter your password. We then send a code to your phone by SMS. Nothing is scheduled before you enter it.',
  'account_deletion.send.submit': 'Send the code',
  'account_deletion.have_code': 'I already have a code',
  'account_deletion.code.title': 'Confirm the deletion',
  'account_deletion.code.lead':
    'Enter the newest code that we sent to your phone. It is valid for ten minutes.',
  'account_deletion.code.effect':
    'You are then signed out everywhere at once: on this page, in the app and in connected apps.',
  'account_deletion.code.label': 'Code from the SMS',
  'account_deletion.code.submit': 'Delete my account',
  'account_deletion.code.another': 'Send another code',
  'account_deletion.scheduled_at': 'Deletion (UTC)',
  'account_deletion.requested_at': 'Requested (UTC)',
  'account_deletion.scheduled':
    'You are signed out everywhere. Until the date of the deletion nothing is deleted, and you can cancel: sign in on this page again.',
  'account_deletion.to_cancel': 'Sign in to cancel',
  'account_deletion.pending': 'Until this date nothing is deleted, and you can cancel.',
  'account_deletion.cancel': 'Cancel the deletion',
  'account_deletion.cancelled': 'The deletion is cancelled',
  'account_deletion.signed_out': 'You are signed out of this page. In the app you sign in as usual.',
  'start.title': 'Fitness platform',
  'start.lead':
    'The backend of a fitness and nutrition app: accounts, wallet, gyms, posts, training services and store purchases, by one API.',
  'start.status': 'Status',
  'start.status.up': 'All parts are working.',
  'start.status.partial': 'Some parts are not reachable right now. The others work.',
  'start.developers': 'For developers',
  'start.docs': 'Documentation of the API',
  'start.openapi': 'Its description (OpenAPI)',
  'start.sandbox': 'Sandbox: SMS, payments and store purchases of the demonstration',
  'start.members': 'For members',

  'notification.account_deletion_requested.title': 'Account deletion scheduled',
  'notification.account_deletion_requested.body':
    'Your account will be deleted on {deletion_scheduled_at} (UTC). Sign in before then to cancel.',
  'notification.account_deletion_postponed.title': 'Account deletion postponed',
  'notification.account_deletion_postponed.body':
    'Your account could not be deleted yet. We will try again on {deletion_scheduled_at} (UTC).',
  'notification.gym_license_reviewed.approved.title': 'Gym licence approved',
  'notification.gym_license_reviewed.approved.body': 'The licence of {gym_name} was approved.',
  'notification.gym_license_reviewed.approved.email':
    'The licence of your gym was approved. Details are in the app.',
  'notification.gym_license_reviewed.rejected.title': 'Gym licence rejected',
  'notification.gym_license_reviewed.rejected.body': 'The licence of {gym_name} was rejected. {reason}',
  'notification.gym_license_reviewed.rejected.email':
    'The licence of your gym was rejected. The reason is in the app.',
  'notification.gym_license_reviewed.removed.title': 'Gym licence removed',
  'notification.gym_license_reviewed.removed.body':
    'An operator has removed the licence document of {gym_name}. You can upload another one.',
  'notification.gym_license_reviewed.removed.email':
    'An operator has removed the licence document of your gym. Details are in the app.',
  'notification.trainer_license_reviewed.approved.title': 'Trainer licence approved',
  'notification.trainer_license_reviewed.approved.body': 'Your trainer licence was approved.',
  'notification.trainer_license_reviewed.rejected.title': 'Trainer licence rejected',
  'notification.trainer_license_reviewed.rejected.body': 'Your trainer licence was rejected. {reason}',
  'notification.trainer_license_reviewed.rejected.email':
    'Your trainer licence was rejected. The reason is in the app.',
  'notification.trainer_license_reviewed.pending.title': 'Trainer licence under review again',
  'notification.trainer_license_reviewed.pending.body':
    'An operator has reset the review of your trainer licence. It is reviewed again.',
  'notification.trainer_license_reviewed.removed.title': 'Trainer licence removed',
  'notification.trainer_license_reviewed.removed.body':
    'An operator has removed the document of your trainer licence. You can upload another one.',
  'notification.deposit_credited.title': 'Deposit credited',
  'notification.deposit_credited.body': 'Your deposit of {amount} Tooman was added to your balance.',
  'notification.deposit_returned.title': 'Deposit returned',
  'notification.deposit_returned.body':
    'Your deposit of {amount} Tooman was not added to your balance. What you paid was returned to you.',
  'notification.withdrawal_paid.title': 'Withdrawal paid',
  'notification.withdrawal_paid.body':
    'Your withdrawal of {amount} Tooman was transferred to your bank account.',
  'notification.withdrawal_rejected.title': 'Withdrawal rejected',
  'notification.withdrawal_rejected.body':
    'Your withdrawal of {amount} Tooman was rejected, and the amount is back in your balance. {reason}',
  'notification.withdrawal_rejected.email':
    'Your withdrawal of {amount} Tooman was rejected, and the amount is back in your balance. Details are in the app.',
  'notification.refund_resolved.refunded.title': 'Purchase refunded',
  'notification.refund_resolved.refunded.body':
    'Your app store purchase that could not be activated was refunded.',
  'notification.refund_resolved.granted.title': 'Purchase activated',
  'notification.refund_resolved.granted.body':
    'Your app store purchase that could not be activated before is active now.',
  'notification.training_service_sold.title': 'Training service sold',
  'notification.training_service_sold.body': 'Your training service {title} was sold for {amount} Tooman.',
  'notification.training_service_sold.email':
    'One of your training services was sold for {amount} Tooman. Details are in the app.',
  'notification.training_service_delivered.title': 'Training service delivered',
  'notification.training_service_delivered.body': 'The training service {title} was delivered to you.',
  'notification.training_service_delivered.email':
    'A training service that you bought was delivered to you. Details are in the app.',
  'notification.subscription_expiring.title': 'Subscription ends soon',
  'notification.subscription_expiring.body': 'Your premium subscription ends on {expires_at} (UTC).',
  'notification.boost_ended.title': 'Boost ended',
  'notification.boost_ended.body': 'The boost of {name} has ended.',
  'notification.boost_ended.email': 'One of your boosts has ended. Details are in the app.',

  'notification.security_alert.password_changed.title': 'Password changed',
  'notification.security_alert.password_changed.body':
    'The password of your account was changed. If this was not you, reset it and contact us.',
  'notification.security_alert.password_reset.title': 'Password reset',
  'notification.security_alert.password_reset.body':
    'The password of your account was reset with a code from your phone. If this was not you, reset it again and contact us.',
  'notification.security_alert.email_changed.title': 'E-mail address changed',
  'notification.security_alert.email_changed.body':
    'The e-mail address of your account was changed. If this was not you, change your password and contact us.',
  'notification.security_alert.phone_changed.title': 'Phone number changed',
  'notification.security_alert.phone_changed.body':
    'The phone number of your account was changed. If this was not you, change your password and contact us.',
  'notification.security_alert.bank_account_changed.title': 'Bank account changed',
  'notification.security_alert.bank_account_changed.body':
    'The bank account for your withdrawals was changed. If this was not you, change your password and contact us.',
  'notification.security_alert.username_changed.title': 'User name changed',
  'notification.security_alert.roles_changed.title': 'Roles changed',
  'notification.security_alert.codes_locked.title': 'Deletion codes locked',
  'notification.security_alert.codes_locked.body':
    'Too many wrong codes for the deletion of your account were entered, so none is accepted for a day. If this was not you, change your password.',
  'notification.security_alert.second_factor_armed.title': 'Second factor set up',
  'notification.security_alert.second_factor_armed.body':
    'A second factor was set up for your account, and you were signed out everywhere else. If this was not you, reset your password and contact us: we can remove it.',
  'notification.security_alert.second_factor_removed.title': 'Second factor removed',
  'notification.security_alert.second_factor_removed.body':
    'The second factor of your account was removed. If this was not you, change your password and contact us.',
  'notification.security_alert.second_factor_locked.title': 'Second factor locked',
  'notification.security_alert.second_factor_locked.body':
    'Too many wrong codes of your second factor were entered. For up to a day only recovery codes are accepted. If this was not you, change your password.',
  'notification.security_alert.recovery_code_used.title': 'Recovery code used',
  'notification.security_alert.recovery_code_used.body':
    'A recovery code of your account was used. If this was not you, change your password and contact us.',
  'notification.security_alert.by_operator.body':
    'An operator made this change. If you did not ask for it, contact us.',

  'sms.password_changed':
    'The password of your fitness account was changed. If this was not you, reset it and contact us.',
  'sms.password_reset':
    'The password of your fitness account was reset. If this was not you, reset it again and contact us.',
  'sms.phone_changed':
    'Your fitness account has another phone number from now on. If this was not you, contact us.',
  'sms.deletion_scheduled':
    'Your fitness account will be deleted on {deletion_scheduled_at} (UTC). Sign in before then to cancel.',

  'payments.provider_error': 'The payment provider could not be reached. Please try again later.',
  'payments.insufficient_balance': 'Your balance is not sufficient.',
  'payments.balance_limit': 'A balance this large cannot be kept.',
  'payments.bank_account_missing': 'Add a bank account number to your profile first.',
  'payments.already_settled': 'This withdrawal is already settled.',
  'payments.not_disputed': 'This deposit is not disputed.',
  'payments.already_resolved': 'This is already resolved with another outcome.',
  'payments.premium_already_active': 'You already have an active subscription.',
  'payments.boost_already_live': 'This target already has a live boost.',
  'payments.target_not_found': 'The gym or training service does not exist.',
  'payments.own_service': 'You cannot buy your own training service.',
  'payments.price_changed': 'The price has changed meanwhile.',
  'payments.deposit_description': 'Wallet deposit',
  'payments.deposit_above_ceiling': 'The payment provider does not take so much at once. Deposit less.',
  'payments.withdrawal_description': 'Withdrawal to the bank account',

  'store_purchase.not_found': 'This purchase was not found.',
  'store_purchase.target_not_found': 'The gym or training service does not exist.',
  'store_purchase.premium_already_active': 'You already have an active subscription.',
  'store_purchase.boost_already_live': 'This target already has a live boost.',
  'store_purchase.verification_failed': 'The store did not confirm this purchase.',
  'store_purchase.not_grantable':
    'This purchase cannot be granted: a subscription or boost is running, or its target does not exist any more.',
  'store_purchase.grant_failed': 'The purchase was confirmed but could not be granted. We keep trying.',

  'licenses.reason_without_rejection': 'Only a rejection has a reason.',
  'licenses.replaced': 'The licence document has been replaced. Look at the current one and review that.',

  'gyms.license_upload_only': 'Only null is accepted here; upload a document through the media route.',
  'gyms.no_place': 'The latitude must be from -90 to 90, the longitude from -180 to 180.',
  'gyms.periods_overlap': 'Two of these periods overlap.',
  'docs.title': 'Fitness platform API',
  'docs.reference': 'API reference',
  'docs.events': 'Events',
  'docs.errors': 'Errors',
  'docs.demo': 'Try the requests as a demo account:',
  'docs.password': 'Password: {password}',
  'docs.intro':
    'Users, gyms, posts, training services, payments and purchases of a fitness platform. Timestamps are `YYYY-MM-DD HH:MM:SS` in UTC, amounts are whole Tooman, texts follow `Accept-Language` (`en`, `fa`). An empty query parameter counts as absent, a missing body as an empty object.',
  'docs.intro.errors':
    'An error has a `message`, a 422 also `errors` with messages by field, and some errors have a `code` that stays the same in every language and release: [all errors](/docs/errors).',
  'docs.errors.lead':
    'An error has a message; some also have a code, which stays the same in every language and release. Texts follow Accept-Language; parameters stand in braces.',
  'docs.errors.fields': 'Messages of fields',
  'docs.errors.fields.lead': 'Under “errors” of a 422, by the name of the field.',
  'docs.errors.no_code': 'without a code',
  'docs.events.lead':
    'What the services tell each other over RabbitMQ, as CloudEvents 1.0 in JSON. The routing key is the type. An event may be delivered again: its id stays the same.',
  'docs.events.document': 'As an AsyncAPI 3 document',
  'docs.events.consumers': 'Consumers: {services}',
  'docs.events.no_consumers': 'No consumers',
  'docs.tags.auth.name': 'Auth',
  'docs.tags.auth': 'The own account: registering, signing in, tokens, the second factor, and deletion.',
  'docs.tags.users.name': 'Users',
  'docs.tags.users': 'Accounts of others, and what operators do with them.',
  'docs.tags.roles.name': 'Roles',
  'docs.tags.roles': 'Roles and their permissions, for administrators.',
  'docs.tags.notifications.name': 'Notifications',
  'docs.tags.notifications': 'What the account was told. The texts are in the language of the request.',
  'docs.tags.gyms.name': 'Gyms',
  'docs.tags.gyms':
    'Gyms, their opening hours, ratings and crowd, and the cities and majors that they refer to.',
  'docs.tags.posts.name': 'Posts',
  'docs.tags.posts': 'Posts on the profiles of users and gyms.',
  'docs.tags.training_services.name': 'Training services',
  'docs.tags.training_services': 'What trainers sell, and the trainees who bought it.',
  'docs.tags.payments.name': 'Payments',
  'docs.tags.payments':
    'The wallet: balance, deposits through a bank gateway, withdrawals, prices, and purchases from app stores. Amounts are whole Tooman.',
  'docs.tags.media.name': 'Media',
  'docs.tags.media': 'Files: images, documents of a review, and videos.',
  'docs.tags.audit.name': 'Audit',
  'docs.tags.audit': 'What operators did.',
} as const;
