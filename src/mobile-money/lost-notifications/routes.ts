import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { BalanceGap, balanceGapList, ProviderStatuses } from './schema.ts';
import { readProviderStatus, toBalanceGap } from './view.ts';
import { listGaps } from './watch-store.ts';

export function providerStatusRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.get(
    '/providers/status',
    {
      config: { access: 'payers:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'getProviderStatus',
        summary: 'Show when each provider last sent a notification',
        description:
          'Also shows whether a provider has been silent for longer than usual, and up to which time its payments were pulled. A pull asks the provider for payments whose notification was lost.',
        response: { 200: Envelope(ProviderStatuses, 'Status of the providers.') },
      },
    },
    async () => ok(await readProviderStatus(context), 'Status of the providers.'),
  );

  api.get(
    '/providers/balance-gaps',
    {
      config: { access: 'payers:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'listBalanceGaps',
        summary: 'List gaps in the running balance',
        description:
          'A notification contains the balance after its payment. If the balance before the next payment differs, a notification was lost, or money left the short code. A gap changes nothing in the books. If pulls are on, the service pulls the payments of the period again.',
        querystring: balanceGapList.query,
        response: { 200: ListEnvelope(BalanceGap, 'Gaps found.') },
      },
    },
    async (request) => {
      const page = await listGaps(db, request.query);
      return okList({ ...page, rows: page.rows.map((row) => toBalanceGap(row, currency)) }, 'Gaps found.');
    },
  );
}
