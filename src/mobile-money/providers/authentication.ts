import type { FastifyRequest } from 'fastify';
import type { Config } from '../../core/context.ts';
import { AppError } from '../../core/http/errors.ts';
import { sameSecret } from '../../core/values/secret.ts';

/**
 * Authenticates calls that have no signature. Checks the secret (`X-Webhook-Secret`, or `?token=` of the registered address) and
 * the caller's network, if the settings have them.
 * @throws AppError UNAUTHORIZED for a wrong secret, FORBIDDEN for a network that is not allowed.
 */
export function authenticateCaller(request: FastifyRequest, config: Config): void {
  if (config.WEBHOOK_SECRET !== '') {
    const query = request.query as { token?: unknown };
    const given = request.headers['x-webhook-secret'] ?? query.token;
    if (typeof given !== 'string' || !sameSecret(given, config.WEBHOOK_SECRET)) {
      throw new AppError('UNAUTHORIZED', 'Send the webhook secret as X-Webhook-Secret or as ?token=.');
    }
  }
  if (config.webhookNetworks?.has(request.ip) === false) {
    throw new AppError(
      'FORBIDDEN',
      `Calls from the address ${request.ip} are not allowed: no network of WEBHOOK_ALLOWED_IPS contains it.`,
    );
  }
}
