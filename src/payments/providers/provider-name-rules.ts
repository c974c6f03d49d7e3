/**
 * The names of the providers in registry.ts. Do not change a name: a payment is identified by the name and the id of the
 * transaction, so a transaction could then be posted again.
 */
export const PROVIDER_NAMES = ['mobilemoney', 'tigopesa'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
