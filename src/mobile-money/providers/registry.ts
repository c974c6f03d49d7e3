import type { Config } from '../../core/context.ts';
import { mobilemoney } from './mobilemoney.ts';
import type { PaymentProvider, ProviderApi } from './provider.ts';
import { tigopesa } from './tigopesa.ts';

export const PROVIDERS: readonly PaymentProvider[] = [mobilemoney, tigopesa];

/** The provider whose statements are imported. */
export const STATEMENT_PROVIDER = onlyProviderWith('statement');
/** The provider that asks phones to pay. */
export const REQUEST_PROVIDER = onlyProviderWith('requester');
/** The provider that answers status queries. */
export const STATUS_PROVIDER = onlyProviderWith('statusAnswers');

function onlyProviderWith<Part extends keyof PaymentProvider>(part: Part) {
  const [provider, ...others] = PROVIDERS.filter((one) => one[part] !== undefined);
  if (!provider || others.length > 0) throw new Error(`Exactly one provider must have '${part}'.`);
  return provider as PaymentProvider & Required<Pick<PaymentProvider, Part>>;
}

export function providerNamed(name: string): PaymentProvider {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (!provider) throw new Error(`There is no payment provider ${name}.`);
  return provider;
}

/** The APIs that the settings turn on, by the name of the provider. */
export type ProviderApis = ReadonlyMap<string, ProviderApi>;

/**
 * Opens the APIs that the settings turn on. Call this once in each process, because the calls of an API share an access token.
 */
export function openProviderApis(config: Config): ProviderApis {
  const apis = PROVIDERS.map(({ name, openApi }) => [name, openApi?.(config)] as const);
  return new Map(apis.flatMap(([name, api]) => (api ? [[name, api]] : [])));
}
