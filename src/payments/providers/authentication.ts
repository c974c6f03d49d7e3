import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { AppError } from '../../core/http/errors.ts';
import { sameSecret } from '../../core/values/secret.ts';

/**
 * Authenticates calls without a signature: by the secret of the registered address (`X-Webhook-Secret` or `?token=`), and by the
 * networks that may call.
 * @throws AppError UNAUTHORIZED for a wrong secret, FORBIDDEN for another network.
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
    throw new AppError('FORBIDDEN', 'This address may not post notifications.');
  }
}
