import type { Config } from '../../core/context.ts';
import { mobilemoney } from './mobilemoney.ts';
import type { PaymentProvider, ProviderApi } from './provider.ts';
import { tigopesa } from './tigopesa.ts';

export const PROVIDERS: readonly PaymentProvider[] = [mobilemoney, tigopesa];

/** The provider whose statements are imported. Only this provider has a statement reader. */
export const STATEMENT_PROVIDER = PROVIDERS.filter(readsStatements)[0] as StatementProvider;

type StatementProvider = PaymentProvider & Required<Pick<PaymentProvider, 'statement'>>;

function readsStatements(provider: PaymentProvider): provider is StatementProvider {
  return provider.statement !== undefined;
}

/** The provider that asks phones to pay. Only this provider has a requester. */
export const REQUEST_PROVIDER = PROVIDERS.filter(sendsRequests)[0] as RequestProvider;

type RequestProvider = PaymentProvider & Required<Pick<PaymentProvider, 'requester'>>;

function sendsRequests(provider: PaymentProvider): provider is RequestProvider {
  return provider.requester !== undefined;
}

/** The provider that answers status queries. Only this provider reads such answers. */
export const STATUS_PROVIDER = PROVIDERS.filter(answersStatusQueries)[0] as StatusProvider;

type StatusProvider = PaymentProvider & Required<Pick<PaymentProvider, 'statusAnswers'>>;

function answersStatusQueries(provider: PaymentProvider): provider is StatusProvider {
  return provider.statusAnswers !== undefined;
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
