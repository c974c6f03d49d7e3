import { mobilemoney } from './mobilemoney.ts';
import type { PaymentProvider } from './provider.ts';
import { tigopesa } from './tigopesa.ts';

/** The providers whose notifications are received. */
export const PROVIDERS: readonly PaymentProvider[] = [mobilemoney, tigopesa];

/** The provider whose statements are read. */
export const STATEMENT_PROVIDER = mobilemoney;

/** The provider of a stored notification. */
export function providerNamed(name: string): PaymentProvider {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (!provider) throw new Error(`There is no payment provider ${name}.`);
  return provider;
}
