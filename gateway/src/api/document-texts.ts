/**
 * The summaries of operations and events in languages other than English. The English summaries are at the routes and the events.
 * A test compares the names. Summaries that are missing, such as those of a later release, are shown in English.
 */
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';

interface DocumentTexts {
  /** The key is the operation id. Each summary has at most 80 characters. */
  operations: Readonly<Record<string, string>>;
  /** The key is the event type. The text says what happened and what follows. */
  events: Readonly<Record<string, string>>;
}

const fa: DocumentTexts = {
  operations: {
    postAuthRegister: 'ساخت حساب',
    postAuthLogin: 'ورود به حساب',
    postAuthLogout: 'خروج از حساب',
    getAuthMe: 'دریافت اطلاعات حساب شما',
    putAuthMe: 'ویرایش حساب شما',
    postAuthPhoneConfirm: 'تأیید شمارهٔ موبایل شما',
    putAuthChangePassword: 'تغییر رمز عبور شما',
    postAuthForgotPassword: 'درخواست کد بازنشانی رمز عبور',
    postAuthResetPassword: 'بازنشانی رمز عبور شما',
    postAuthDeleteAccount: 'درخواست حذف حساب شما',
    deleteAuthDeleteAccount: 'لغو حذف حساب شما',
    postAuthSecondFactor: 'فعال کردن ورود دومرحله‌ای',
    deleteAuthSecondFactor: 'غیرفعال کردن ورود دومرحله‌ای',
    getAuthSessions: 'فهرست نشست‌های شما',
    deleteAuthSessionsById: 'بستن یکی از نشست‌های شما',
    getAuthTokens: 'فهرست توکن‌های دسترسی شخصی شما',
    postAuthTokens: 'ساخت توکن دسترسی شخصی',
    deleteAuthTokensById: 'باطل کردن توکن دسترسی شخصی',
    getAuthGrants: 'فهرست اپلیکیشن‌های متصل به حساب شما',
    deleteAuthGrantsById: 'قطع دسترسی یک اپلیکیشن',

    getUsers: 'فهرست کاربران',
    getUsersById: 'دریافت اطلاعات یک کاربر',
    putUsersById: 'ویرایش یک کاربر',
    deleteUsersById: 'حذف فوری یک کاربر',
    getUsersNames: 'دریافت نام کاربران',
    getUsersLicenseReviews: 'فهرست مجوزهای مربیگری در انتظار بررسی',
    getUsersByIdDeletionBlockers: 'فهرست موانع حذف یک کاربر',
    getUsersByIdSessions: 'فهرست نشست‌های یک کاربر',
    deleteUsersByIdSessionsBySessionId: 'بستن یکی از نشست‌های کاربر',
    deleteUsersByIdSecondFactor: 'غیرفعال کردن ورود دومرحله‌ای یک کاربر',

    getRoles: 'فهرست نقش‌ها',
    putRolesById: 'ویرایش یک نقش',

    getNotifications: 'فهرست اعلان‌های شما',
    postNotificationsByIdRead: 'ثبت خوانده شدن اعلان',
    getNotificationsPreferences: 'دریافت تنظیمات اعلان‌های شما',
    putNotificationsPreferences: 'تغییر تنظیمات اعلان‌های شما',
    postNotificationsDevices: 'ثبت دستگاه برای اعلان‌ها',
    deleteNotificationsDevicesById: 'حذف دستگاه از اعلان‌ها',

    getGyms: 'فهرست باشگاه‌ها',
    postGyms: 'ساخت باشگاه',
    getGymsById: 'دریافت اطلاعات یک باشگاه',
    putGymsById: 'ویرایش باشگاه',
    deleteGymsById: 'حذف باشگاه',
    getGymsLicenseReviews: 'فهرست مجوزهای باشگاه در انتظار بررسی',
    putGymsByIdWorkingPeriods: 'تعیین ساعت کار باشگاه',
    putGymsByIdRating: 'امتیاز دادن به باشگاه',
    putGymsByIdCrowd: 'گزارش میزان شلوغی باشگاه',
    getCities: 'فهرست شهرها',
    getMajors: 'فهرست رشته‌های ورزشی',

    getPosts: 'فهرست پست‌ها',
    postPosts: 'ساخت پست',
    getPostsById: 'دریافت یک پست',
    putPostsById: 'ویرایش پست',
    deletePostsById: 'حذف پست',

    getTrainingServices: 'فهرست خدمات مربیگری',
    postTrainingServices: 'ساخت خدمت مربیگری',
    getTrainingServicesById: 'دریافت یک خدمت مربیگری',
    putTrainingServicesById: 'ویرایش خدمت مربیگری',
    deleteTrainingServicesById: 'حذف خدمت مربیگری',
    postTrainingServicesByIdPurchase: 'خرید خدمت مربیگری',
    getTrainees: 'فهرست شاگردان',
    postTraineesByIdDeliver: 'ثبت تحویل خدمت به شاگرد',

    getPayments: 'فهرست پرداخت‌ها',
    getPaymentsById: 'دریافت یک پرداخت',
    getPaymentsBalance: 'دریافت موجودی کیف پول',
    getPaymentsPrices: 'فهرست قیمت‌ها و نرخ‌ها',
    postPaymentsDeposit: 'شروع واریز به کیف پول',
    getPaymentsDepositCallback: 'بازگشت از درگاه پرداخت',
    getPaymentsDepositDisputed: 'فهرست واریزهای دارای مغایرت',
    postPaymentsByIdResolve: 'تعیین تکلیف واریز دارای مغایرت',
    postPaymentsWithdrawals: 'درخواست برداشت از کیف پول',
    postPaymentsByIdPay: 'ثبت پرداخت یک برداشت',
    postPaymentsByIdReject: 'رد کردن یک برداشت',
    postPaymentsBuyPremium: 'خرید اشتراک ویژه با کیف پول',
    postPaymentsBoost: 'خرید نردبان با کیف پول',
    postPaymentsStorePurchases: 'فعال‌سازی خرید درون‌برنامه‌ای',
    getPaymentsStorePurchasesRefundQueue: 'فهرست خریدهای نیازمند بازپرداخت',
    postPaymentsStorePurchasesRefundQueueByIdResolve: 'تعیین تکلیف بازپرداخت یک خرید',

    postMedia: 'بارگذاری فایل',
    getMediaById: 'دریافت فایل',
    getMediaByIdByFilename: 'دریافت فایل با پیوند آن',
    deleteMediaById: 'حذف فایل',

    getAuditLog: 'گزارش اقدامات اپراتورها',
  },
  events: {
    'content.post.deleted': 'پستی حذف شد. فایل‌های آن هم حذف می‌شوند.',
    'content.trainee.delivered': 'فروشنده خدمت مربیگری خریداری‌شده را تحویل داد. خریدار باخبر می‌شود.',
    'content.trainee.purchased': 'یک خدمت مربیگری خریداری شد و پول آن پرداخت شد. فروشنده باخبر می‌شود.',
    'content.training_service.boost_ended': 'نردبان یک خدمت مربیگری تمام شد. فروشنده باخبر می‌شود.',
    'content.training_service.changed': 'خدمت مربیگری تازه‌ای ساخته شد یا تغییر کرد.',
    'content.training_service.deleted': 'یک خدمت مربیگری حذف شد. فایل‌های آن هم حذف و نردبان‌هایش تمام می‌شوند.',
    'gyms.gym.boost_ended': 'نردبان یک باشگاه تمام شد. کسی که در آن لحظه مالک باشگاه است باخبر می‌شود.',
    'gyms.gym.changed': 'باشگاهی ساخته شد یا تغییر کرد.',
    'gyms.gym.deleted': 'باشگاهی حذف شد. امتیازها، فایل‌ها و پست‌های آن هم حذف و نردبان‌هایش تمام می‌شوند.',
    'gyms.gym.license_cleared':
      'مدرک مجوز از یک باشگاه برداشته شد. سرویس media فقط همین مدرک را حذف می‌کند، نه مدرکی را که بعداً بارگذاری شده و شناسهٔ بزرگ‌تری دارد.',
    'gyms.gym.license_reviewed':
      'مجوز یک باشگاه تأیید یا رد شد، یا اپراتوری مدرک آن را با `DELETE /media/{id}` حذف کرد. کسی که در آن لحظه مالک باشگاه است باخبر می‌شود.',
    'identity.account.deleted':
      'حسابی پاک شد. هر سرویس داده‌هایی را که از آن حساب دارد پاک می‌کند یا هویت کاربر را از آن‌ها حذف می‌کند.',
    'identity.account.deletion_cancelled': 'درخواست حذف یک حساب لغو شد. آن حساب دوباره فعال است.',
    'identity.account.deletion_requested': 'درخواست حذف یک حساب ثبت شد. صاحب حساب باخبر می‌شود.',
    'identity.credentials.revoked':
      'توکن‌ها و نشست‌های یک کاربر باطل شدند: رمز عبور تغییر کرد یا بازنشانی شد، ورود دومرحله‌ای فعال شد یا اپراتوری آن را غیرفعال کرد، درخواست حذف حساب ثبت شد، یا حساب پاک شد. نشستی که رمز عبور با آن تغییر کرده یا ورود دومرحله‌ای با آن فعال شده است معتبر می‌ماند.',
    'identity.notification.email_requested': 'اعلانی ذخیره شد و باید با ایمیل فرستاده شود.',
    'identity.notification.push_requested': 'اعلانی ذخیره شد و باید به یک دستگاه فرستاده شود.',
    'identity.security_sms.requested':
      'حساب یک کاربر تغییر کرد و باید با پیامک به او خبر داد. شمارهٔ موبایل در خود رویداد است، چون پس از تغییر شماره، شمارهٔ قبلی جای دیگری نیست.',
    'identity.trainer_license.cleared':
      'مدرک مجوز مربیگری یک کاربر برداشته شد. سرویس media فقط همین مدرک را حذف می‌کند، نه مدرکی را که بعداً بارگذاری شده و شناسهٔ بزرگ‌تری دارد.',
    'media.media.attached':
      'فایلی بارگذاری و به موردی پیوست شد. اگر دو مدرک برای یک مورد و یک منظور باشند، مدرکی که شناسهٔ بزرگ‌تری دارد تازه‌تر است.',
    'media.media.deleted': 'فایلی حذف یا برداشته شد، یا مدرک تازه‌تری جای آن را گرفت.',
    'store_billing.boost.ended':
      'نردبانی تمام شد: مهلت آن به پایان رسید، فروشگاه پول آن را برگرداند، یا باشگاه یا خدمت مربیگری آن حذف شد.',
    'store_billing.boost.granted': 'نردبانی شروع شد که از فروشگاه اپلیکیشن یا با کیف پول خریده شده است.',
    'store_billing.refund.resolved':
      'اپراتوری یک مورد از صف بازپرداخت را تعیین تکلیف کرد. کاربر باخبر می‌شود.',
    'store_billing.store_purchase.grant_ended':
      'فروشگاه خبر داد که پول خریدی را برگردانده است. اشتراک یا نردبانی که با آن فعال شده بود تمام شد، اما پرداخت آن باقی می‌ماند.',
    'store_billing.store_purchase.granted':
      'یک خرید از فروشگاه اپلیکیشن فعال شد. کیف پول پرداخت `store_purchase` آن را یک بار ثبت می‌کند.',
    'store_billing.subscription.expiring':
      'تا پایان یک اشتراک ویژه کمتر از سه روز مانده است. کاربر باخبر می‌شود.',
    'store_billing.subscription.started':
      'اشتراک ویژه‌ای شروع شد که از فروشگاه اپلیکیشن یا با کیف پول خریده شده است.',
    'wallet.deposit.returned':
      'اپراتوری پول یک واریز دارای مغایرت را برگرداند. آن واریز به موجودی اضافه نمی‌شود و کاربر باخبر می‌شود.',
    'wallet.ledger.sealed': 'دسته‌ای از ردیف‌های دفتر حساب‌ها مهر شد؛ معمولاً کمتر از یک ثانیه پس از ثبت آن‌ها.',
    'wallet.payment.booked':
      'سرویس کیف پول خودش پرداختی را ثبت کرد: درخواست برداشت، خرید از فروشگاه اپلیکیشن، یا واریزی که تأیید شده است. اگر واریز باشد، کاربر باخبر می‌شود. پرداخت‌هایی که سرویس‌های دیگر ثبت می‌کنند در `wallet.ledger.sealed` می‌آیند.',
    'wallet.withdrawal.settled': 'اپراتوری یک برداشت را پرداخت یا رد کرد. کاربر باخبر می‌شود.',
  },
};

export const DOCUMENT_TEXTS: Readonly<Partial<Record<Locale, DocumentTexts>>> = { fa };
