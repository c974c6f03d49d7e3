/**
 * The names of the providers in registry.ts. A payment of a provider is known by this name and its transaction, so under another
 * name the transaction could be posted again.
 */
export const PROVIDER_NAMES = ['mobilemoney', 'tigopesa'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
