export const SHOWN = ['to_call', 'hidden', 'all'] as const;
export type Shown = (typeof SHOWN)[number];

export const LATENESS = ['late', 'past_due'] as const;
export type Lateness = (typeof LATENESS)[number];

/** The largest number of accounts that one request assigns. */
export const MAX_ASSIGNED = 500;
/** The largest number of accounts in one call form. */
export const MAX_FORM_ACCOUNTS = 50;
export const MAX_FORM_CALLS = 20;
