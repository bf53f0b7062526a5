/** Methods by namespace and name: the HTTP method, the path, and the input after the path's id. */
export const METHODS = {
  "account": {
    "cancelDeletion": [
      "DELETE",
      "/api/v1/auth/delete-account",
      "none"
    ],
    "changePassword": [
      "PUT",
      "/api/v1/auth/change-password",
      "body"
    ],
    "confirmPhone": [
      "POST",
      "/api/v1/auth/phone/confirm",
      "body"
    ],
    "register": [
      "POST",
      "/api/v1/auth/register",
      "body"
    ],
    "requestPasswordReset": [
      "POST",
      "/api/v1/auth/forgot-password",
      "body"
    ],
    "resetPassword": [
      "POST",
      "/api/v1/auth/reset-password",
      "body"
    ],
    "retrieve": [
      "GET",
      "/api/v1/auth/me",
      "none"
    ],
    "scheduleDeletion": [
      "POST",
      "/api/v1/auth/delete-account",
      "body"
    ],
    "update": [
      "PUT",
      "/api/v1/auth/me",
      "body"
    ]
  },
  "auditLog": {
    "list": [
      "GET",
      "/api/v1/audit-log",
      "list"
    ]
  },
  "balance": {
    "retrieve": [
      "GET",
      "/api/v1/payments/balance",
      "query"
    ]
  },
  "boosts": {
    "buy": [
      "POST",
      "/api/v1/payments/boost",
      "body"
    ]
  },
  "cities": {
    "list": [
      "GET",
      "/api/v1/cities",
      "list"
    ]
  },
  "deposits": {
    "create": [
      "POST",
      "/api/v1/payments/deposit",
      "body"
    ],
    "listDisputed": [
      "GET",
      "/api/v1/payments/deposit/disputed",
      "list"
    ],
    "resolve": [
      "POST",
      "/api/v1/payments/{id}/resolve",
      "body"
    ]
  },
  "devices": {
    "register": [
      "POST",
      "/api/v1/notifications/devices",
      "body"
    ],
    "unregister": [
      "DELETE",
      "/api/v1/notifications/devices/{id}",
      "none"
    ]
  },
  "grants": {
    "list": [
      "GET",
      "/api/v1/auth/grants",
      "list"
    ],
    "revoke": [
      "DELETE",
      "/api/v1/auth/grants/{id}",
      "none"
    ]
  },
  "gyms": {
    "create": [
      "POST",
      "/api/v1/gyms",
      "body"
    ],
    "delete": [
      "DELETE",
      "/api/v1/gyms/{id}",
      "none"
    ],
    "list": [
      "GET",
      "/api/v1/gyms",
      "list"
    ],
    "listLicenseReviews": [
      "GET",
      "/api/v1/gyms/license-reviews",
      "list"
    ],
    "rate": [
      "PUT",
      "/api/v1/gyms/{id}/rating",
      "body"
    ],
    "reportCrowd": [
      "PUT",
      "/api/v1/gyms/{id}/crowd",
      "body"
    ],
    "retrieve": [
      "GET",
      "/api/v1/gyms/{id}",
      "none"
    ],
    "setWorkingPeriods": [
      "PUT",
      "/api/v1/gyms/{id}/working-periods",
      "body"
    ],
    "update": [
      "PUT",
      "/api/v1/gyms/{id}",
      "body"
    ]
  },
  "majors": {
    "list": [
      "GET",
      "/api/v1/majors",
      "list"
    ]
  },
  "media": {
    "delete": [
      "DELETE",
      "/api/v1/media/{id}",
      "none"
    ]
  },
  "names": {
    "retrieve": [
      "GET",
      "/api/v1/users/names",
      "query"
    ]
  },
  "notificationPreferences": {
    "retrieve": [
      "GET",
      "/api/v1/notifications/preferences",
      "none"
    ],
    "update": [
      "PUT",
      "/api/v1/notifications/preferences",
      "body"
    ]
  },
  "notifications": {
    "list": [
      "GET",
      "/api/v1/notifications",
      "list"
    ],
    "markAsRead": [
      "POST",
      "/api/v1/notifications/{id}/read",
      "none"
    ]
  },
  "payments": {
    "list": [
      "GET",
      "/api/v1/payments",
      "list"
    ],
    "retrieve": [
      "GET",
      "/api/v1/payments/{id}",
      "none"
    ]
  },
  "posts": {
    "create": [
      "POST",
      "/api/v1/posts",
      "body"
    ],
    "delete": [
      "DELETE",
      "/api/v1/posts/{id}",
      "none"
    ],
    "list": [
      "GET",
      "/api/v1/posts",
      "list"
    ],
    "retrieve": [
      "GET",
      "/api/v1/posts/{id}",
      "none"
    ],
    "update": [
      "PUT",
      "/api/v1/posts/{id}",
      "body"
    ]
  },
  "premium": {
    "buy": [
      "POST",
      "/api/v1/payments/buy-premium",
      "body"
    ]
  },
  "prices": {
    "retrieve": [
      "GET",
      "/api/v1/payments/prices",
      "none"
    ]
  },
  "refunds": {
    "list": [
      "GET",
      "/api/v1/payments/store-purchases/refund-queue",
      "list"
    ],
    "resolve": [
      "POST",
      "/api/v1/payments/store-purchases/refund-queue/{id}/resolve",
      "body"
    ]
  },
  "roles": {
    "list": [
      "GET",
      "/api/v1/roles",
      "list"
    ],
    "update": [
      "PUT",
      "/api/v1/roles/{id}",
      "body"
    ]
  },
  "secondFactor": {
    "setUp": [
      "POST",
      "/api/v1/auth/second-factor",
      "body"
    ],
    "turnOff": [
      "DELETE",
      "/api/v1/auth/second-factor",
      "body"
    ]
  },
  "sessions": {
    "list": [
      "GET",
      "/api/v1/auth/sessions",
      "list"
    ],
    "revoke": [
      "DELETE",
      "/api/v1/auth/sessions/{id}",
      "none"
    ]
  },
  "storePurchases": {
    "redeem": [
      "POST",
      "/api/v1/payments/store-purchases",
      "body"
    ]
  },
  "tokens": {
    "create": [
      "POST",
      "/api/v1/auth/tokens",
      "body"
    ],
    "list": [
      "GET",
      "/api/v1/auth/tokens",
      "list"
    ],
    "revoke": [
      "DELETE",
      "/api/v1/auth/tokens/{id}",
      "none"
    ]
  },
  "trainees": {
    "deliver": [
      "POST",
      "/api/v1/trainees/{id}/deliver",
      "none"
    ],
    "list": [
      "GET",
      "/api/v1/trainees",
      "list"
    ]
  },
  "trainingServices": {
    "buy": [
      "POST",
      "/api/v1/training-services/{id}/purchase",
      "body"
    ],
    "create": [
      "POST",
      "/api/v1/training-services",
      "body"
    ],
    "delete": [
      "DELETE",
      "/api/v1/training-services/{id}",
      "none"
    ],
    "list": [
      "GET",
      "/api/v1/training-services",
      "list"
    ],
    "retrieve": [
      "GET",
      "/api/v1/training-services/{id}",
      "none"
    ],
    "update": [
      "PUT",
      "/api/v1/training-services/{id}",
      "body"
    ]
  },
  "users": {
    "delete": [
      "DELETE",
      "/api/v1/users/{id}",
      "none"
    ],
    "deletionBlockers": [
      "GET",
      "/api/v1/users/{id}/deletion-blockers",
      "none"
    ],
    "endSession": [
      "DELETE",
      "/api/v1/users/{id}/sessions/{session_id}",
      "none"
    ],
    "list": [
      "GET",
      "/api/v1/users",
      "list"
    ],
    "listLicenseReviews": [
      "GET",
      "/api/v1/users/license-reviews",
      "list"
    ],
    "retrieve": [
      "GET",
      "/api/v1/users/{id}",
      "none"
    ],
    "sessions": [
      "GET",
      "/api/v1/users/{id}/sessions",
      "list"
    ],
    "turnOffSecondFactor": [
      "DELETE",
      "/api/v1/users/{id}/second-factor",
      "none"
    ],
    "update": [
      "PUT",
      "/api/v1/users/{id}",
      "body"
    ]
  },
  "withdrawals": {
    "claim": [
      "POST",
      "/api/v1/payments/{id}/claim",
      "body"
    ],
    "create": [
      "POST",
      "/api/v1/payments/withdrawals",
      "body"
    ],
    "markAsPaid": [
      "POST",
      "/api/v1/payments/{id}/pay",
      "body"
    ],
    "reject": [
      "POST",
      "/api/v1/payments/{id}/reject",
      "body"
    ],
    "release": [
      "DELETE",
      "/api/v1/payments/{id}/claim",
      "none"
    ]
  }
} as const;
