/**
 * The providers in registry.ts, with the code of the payment method of each. Do not change a name: the service finds a repeated
 * transaction by its id and the name of its provider. After a change, the same transaction could be posted again.
 */
const METHOD_CODES = { mobilemoney: 'mobile_money', tigopesa: 'mobile_money' } as const;

export type ProviderName = keyof typeof METHOD_CODES;
export const PROVIDER_NAMES = Object.keys(METHOD_CODES) as ProviderName[];

/** The code of the payment method that payments of a provider have. */
export function methodCodeOf(provider: string): string {
  const code = METHOD_CODES[provider as ProviderName];
  if (!code) throw new Error(`There is no payment provider ${provider}.`);
  return code;
}
