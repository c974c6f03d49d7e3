import { amountOf, type Context, today } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { callingCode } from '../../core/values/phone.ts';
import { Settings } from './schema.ts';

const MAX_AGE_SECONDS = 60;

export function settingsRoutes(api: Api, context: Context, version: string): void {
  api.get(
    '/settings',
    {
      config: { access: 'public', rate: 'pages' },
      schema: {
        tags: ['Settings'],
        operationId: 'getSettings',
        summary: 'Get the public settings',
        description:
          'The settings that a page needs before somebody signs in. Clients can cache them for a minute.',
        response: { 200: Envelope(Settings, 'Settings found.') },
      },
    },
    async (_request, reply) => {
      const { config, currency } = context;
      reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`);
      return ok(
        {
          companyName: config.COMPANY_NAME,
          currency: currency.code,
          currencyDecimals: currency.decimals,
          timeZone: config.BUSINESS_TIMEZONE,
          today: today(context),
          phoneCountryCode: `+${callingCode(config.PHONE_REGION)}`,
          identityProviders: [...config.identityProviders.keys()].map((name) => ({ name })),
          approvalLimit:
            config.approvalLimitMinor === undefined ? null : amountOf(config.approvalLimitMinor, currency),
          planChangeReasons: [...config.planChangeReasons],
          registrationOpen: config.registration.open,
          paymentRequests: config.mobilemoneyRequests !== undefined,
          cashCounts: config.CASH_COUNTS === 'on',
          statusQueries: config.mobilemoneyStatus !== undefined,
          version,
        },
        'Settings found.',
      );
    },
  );
}
