/**
 * The names of the providers in registry.ts. The name of a provider and the id of its transaction identify a payment. If a name
 * changed, a transaction could be posted again.
 */
export const PROVIDER_NAMES = ['mobilemoney', 'tigopesa'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
