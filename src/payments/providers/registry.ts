import { mobilemoney } from './mobilemoney.ts';
import type { PaymentProvider } from './provider.ts';
import { tigopesa } from './tigopesa.ts';

/** The providers that post notifications. */
export const PROVIDERS: readonly PaymentProvider[] = [mobilemoney, tigopesa];

/** The provider whose statements are imported. */
export const STATEMENT_PROVIDER = mobilemoney;

export function providerNamed(name: string): PaymentProvider {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (!provider) throw new Error(`There is no payment provider ${name}.`);
  return provider;
}
