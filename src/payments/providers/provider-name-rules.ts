/**
 * The names of the providers in registry.ts. Do not change a name: the service finds a repeated transaction by its id and the
 * name of its provider. After a change, the same transaction could be posted again.
 */
export const PROVIDER_NAMES = ['mobilemoney', 'tigopesa'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
