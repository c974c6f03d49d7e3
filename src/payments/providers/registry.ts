import { mobilemoney } from './mobilemoney.ts';
import type { PaymentProvider } from './provider.ts';
import { tigopesa } from './tigopesa.ts';

export const PROVIDERS: readonly PaymentProvider[] = [mobilemoney, tigopesa];

/** The provider whose statements are imported. Only this provider has a statement reader. */
export const STATEMENT_PROVIDER = PROVIDERS.filter(readsStatements)[0] as StatementProvider;

type StatementProvider = PaymentProvider & Required<Pick<PaymentProvider, 'statement'>>;

function readsStatements(provider: PaymentProvider): provider is StatementProvider {
  return provider.statement !== undefined;
}

export function providerNamed(name: string): PaymentProvider {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (!provider) throw new Error(`There is no payment provider ${name}.`);
  return provider;
}
