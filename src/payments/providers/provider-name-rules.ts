/**
 * The names of the providers in registry.ts. This name and the provider's transaction identify a payment. If a name changed, a
 * transaction could be posted again.
 */
export const PROVIDER_NAMES = ['mobilemoney', 'tigopesa'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
