import { PROVIDERS } from '../../src/mobile-money/providers/registry.ts';

/** The routes that payment providers call. */
export const PROVIDER_ROUTES = PROVIDERS.flatMap(({ name, validation, requester, statusAnswers }) => [
  `POST /webhooks/payments/${name}`,
  ...(validation ? [`POST /webhooks/payments/${name}/validation`] : []),
  ...(requester ? [`POST /webhooks/payments/${name}/requests/:key`] : []),
  ...(statusAnswers ? [`POST /webhooks/payments/${name}/status/:key`] : []),
]);
