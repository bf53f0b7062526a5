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
    postAuthPhoneConfirm: 'تأیید شمارهٔ تلفن شما',
    putAuthChangePassword: 'تغییر رمز عبور شما',
    postAuthForgotPassword: 'درخواست کد بازیابی رمز عبور',
    postAuthResetPassword: 'بازیابی رمز عبور شما',
    postAuthDeleteAccount: 'زمان‌بندی حذف حساب شما',
    deleteAuthDeleteAccount: 'لغو حذف حساب شما',
    postAuthSecondFactor: 'روشن کردن ورود دومرحله‌ای',
    deleteAuthSecondFactor: 'خاموش کردن ورود دومرحله‌ای',
    getAuthSessions: 'فهرست نشست‌های شما',
    deleteAuthSessionsById: 'خروج از یک نشست',
    getAuthTokens: 'فهرست توکن‌های دسترسی شخصی شما',
    postAuthTokens: 'ساخت توکن دسترسی شخصی',
    deleteAuthTokensById: 'باطل کردن توکن دسترسی شخصی',
    getAuthGrants: 'فهرست برنامه‌های متصل به حساب شما',
    deleteAuthGrantsById: 'قطع اتصال یک برنامه',

    getUsers: 'فهرست کاربران',
    getUsersById: 'دریافت اطلاعات یک کاربر',
    putUsersById: 'ویرایش یک کاربر',
    deleteUsersById: 'حذف فوری یک کاربر',
    getUsersNames: 'دریافت نام کاربران',
    getUsersLicenseReviews: 'فهرست مجوزهای مربیگری در انتظار بررسی',
    getUsersByIdDeletionBlockers: 'فهرست موانع حذف یک کاربر',
    getUsersByIdSessions: 'فهرست نشست‌های یک کاربر',
    deleteUsersByIdSessionsBySessionId: 'پایان دادن به یک نشست کاربر',
    deleteUsersByIdSecondFactor: 'خاموش کردن ورود دومرحله‌ای یک کاربر',

    getRoles: 'فهرست نقش‌ها',
    putRolesById: 'ویرایش یک نقش',

    getNotifications: 'فهرست اعلان‌های شما',
    postNotificationsByIdRead: 'علامت زدن اعلان به‌عنوان خوانده‌شده',
    getNotificationsPreferences: 'دریافت تنظیمات اعلان‌های شما',
    putNotificationsPreferences: 'تغییر تنظیمات اعلان‌های شما',
    postNotificationsDevices: 'ثبت دستگاه برای اعلان‌ها',
    deleteNotificationsDevicesById: 'لغو ثبت یک دستگاه',

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
    getPaymentsDepositDisputed: 'فهرست واریزهای مورد اختلاف',
    postPaymentsByIdResolve: 'تعیین تکلیف واریز مورد اختلاف',
    postPaymentsWithdrawals: 'درخواست برداشت از کیف پول',
    postPaymentsByIdPay: 'ثبت پرداخت یک برداشت',
    postPaymentsByIdReject: 'رد کردن یک برداشت',
    postPaymentsBuyPremium: 'خرید اشتراک ویژه از کیف پول',
    postPaymentsBoost: 'خرید نردبان از کیف پول',
    postPaymentsStorePurchases: 'فعال‌سازی خرید درون‌برنامه‌ای',
    getPaymentsStorePurchasesRefundQueue: 'فهرست خریدهای نیازمند بازپرداخت',
    postPaymentsStorePurchasesRefundQueueByIdResolve: 'تعیین تکلیف بازپرداخت یک خرید',

    postMedia: 'بارگذاری فایل',
    getMediaById: 'دریافت فایل',
    getMediaByIdByFilename: 'دریافت فایل از پیوند آن',
    deleteMediaById: 'حذف فایل',

    getAuditLog: 'گزارش کارهای اپراتورها',
  },
  events: {
    'content.post.deleted': 'پستی حذف شد. فایل‌های آن هم حذف می‌شوند.',
    'content.trainee.delivered': 'فروشنده خدمت مربیگری خریداری‌شده را تحویل داد. به خریدار خبر داده می‌شود.',
    'content.trainee.purchased': 'یک خدمت مربیگری خریداری و پول آن پرداخت شد. به فروشنده خبر داده می‌شود.',
    'content.training_service.boost_ended': 'نردبان یک خدمت مربیگری تمام شد. به فروشنده خبر داده می‌شود.',
    'content.training_service.changed': 'خدمت مربیگری تازه‌ای ساخته شد یا تغییر کرد.',
    'content.training_service.deleted':
      'یک خدمت مربیگری حذف شد. فایل‌های آن حذف می‌شوند و نردبان‌های آن پایان می‌یابند.',
    'gyms.gym.boost_ended': 'نردبان یک باشگاه تمام شد. به کسی که در آن لحظه مالک باشگاه است خبر داده می‌شود.',
    'gyms.gym.changed': 'باشگاهی ساخته شد یا تغییر کرد.',
    'gyms.gym.deleted':
      'باشگاهی حذف شد. امتیازها، فایل‌ها و پست‌های آن حذف می‌شوند و نردبان‌های آن پایان می‌یابند.',
    'gyms.gym.license_cleared':
      'مدرک مجوز یک باشگاه برداشته شد. سرویس media همین مدرک را حذف می‌کند، نه مدرک‌های بعدی را: مدرکی با شناسهٔ بزرگ‌تر پس از آن بارگذاری شده است.',
    'gyms.gym.license_reviewed':
      'مجوز یک باشگاه تأیید یا رد شد، یا اپراتوری مدرک آن را با `DELETE /media/{id}` حذف کرد. به کسی که در آن لحظه مالک باشگاه است خبر داده می‌شود.',
    'identity.account.deleted':
      'حسابی پاک شد. هر سرویس داده‌های خود دربارهٔ آن حساب را پاک می‌کند یا هویت کاربر را از آن‌ها حذف می‌کند.',
    'identity.account.deletion_cancelled': 'حذف زمان‌بندی‌شدهٔ یک حساب لغو شد. آن حساب دوباره فعال است.',
    'identity.account.deletion_requested': 'حذف یک حساب زمان‌بندی شد. به صاحب حساب خبر داده می‌شود.',
    'identity.credentials.revoked':
      'توکن‌ها و نشست‌های یک کاربر باطل شدند: رمز عبور تغییر کرد یا بازیابی شد، ورود دومرحله‌ای روشن شد یا اپراتوری آن را خاموش کرد، حذف حساب زمان‌بندی شد، یا حساب پاک شد. نشستی که رمز عبور را تغییر داده یا ورود دومرحله‌ای را روشن کرده است معتبر می‌ماند.',
    'identity.notification.email_requested': 'اعلانی که ذخیره شده است باید با ایمیل فرستاده شود.',
    'identity.notification.push_requested': 'اعلانی که ذخیره شده است باید به یک دستگاه فرستاده شود.',
    'identity.security_sms.requested':
      'تغییری در حساب یک کاربر باید با پیامک به او خبر داده شود. شمارهٔ تلفن در خود رویداد است، چون پس از تغییر شماره، شمارهٔ قبلی در جای دیگری نیست.',
    'identity.trainer_license.cleared':
      'مدرک مجوز یک مربی برداشته شد. سرویس media همین مدرک را حذف می‌کند، نه مدرک‌های بعدی را: مدرکی با شناسهٔ بزرگ‌تر پس از آن بارگذاری شده است.',
    'media.media.attached':
      'فایلی بارگذاری و به موردی پیوست شد. از دو مدرک که برای یک مورد و یک منظور هستند، آنکه شناسهٔ بزرگ‌تری دارد تازه‌تر است.',
    'media.media.deleted': 'فایلی حذف یا برداشته شد، یا مدرک تازه‌تری جای آن را گرفت.',
    'store_billing.boost.ended':
      'نردبانی تمام شد: مدت آن به پایان رسید، فروشگاه پول آن را برگرداند، یا آنچه نردبان شده بود حذف شد.',
    'store_billing.boost.granted': 'نردبانی آغاز شد که از فروشگاه اپلیکیشن یا از کیف پول خریده شده است.',
    'store_billing.refund.resolved':
      'اپراتوری یک مورد از صف بازپرداخت را تعیین تکلیف کرد. به کاربر خبر داده می‌شود.',
    'store_billing.store_purchase.grant_ended':
      'فروشگاه خبر داد که پول خریدی را برگردانده است، و آنچه با آن فعال شده بود پایان یافت. پرداخت باقی می‌ماند.',
    'store_billing.store_purchase.granted':
      'یک خرید از فروشگاه اپلیکیشن فعال شد. کیف پول پرداخت `store_purchase` آن را یک بار ثبت می‌کند.',
    'store_billing.subscription.expiring':
      'تا پایان یک اشتراک ویژه کمتر از سه روز مانده است. به کاربر خبر داده می‌شود.',
    'store_billing.subscription.started':
      'اشتراک ویژه‌ای آغاز شد که از فروشگاه اپلیکیشن یا از کیف پول خریده شده است.',
    'wallet.deposit.returned':
      'اپراتوری پول یک واریز مورد اختلاف را برگرداند. آن واریز به موجودی اضافه نمی‌شود و به کاربر خبر داده می‌شود.',
    'wallet.ledger.sealed': 'دسته‌ای از ردیف‌های دفتر حساب‌ها مهر شد؛ معمولاً کمتر از یک ثانیه پس از ثبت آن‌ها.',
    'wallet.payment.booked':
      'خود کیف پول پرداختی را ثبت کرد: درخواست برداشت، خرید از فروشگاه اپلیکیشن، یا واریزی که تأیید شده است. دربارهٔ واریز به کاربر خبر داده می‌شود. پرداخت‌هایی که سرویس‌های دیگر ثبت می‌کنند در `wallet.ledger.sealed` هستند.',
    'wallet.withdrawal.settled': 'اپراتوری یک برداشت را پرداخت یا رد کرد. به کاربر خبر داده می‌شود.',
  },
};

export const DOCUMENT_TEXTS: Readonly<Partial<Record<Locale, DocumentTexts>>> = { fa };
