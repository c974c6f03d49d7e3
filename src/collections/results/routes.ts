import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { OfficerResults, ResultsQuery } from './schema.ts';
import { showResults } from './view.ts';

export function resultRoutes(api: Api, context: Context): void {
  api.get(
    '/call-results',
    {
      config: { access: 'calls:read' },
      schema: {
        tags: ['Collections'],
        operationId: 'getCallResults',
        summary: 'Show results by officer and week',
        description: 'Users without `reports:read` see only their own results.',
        querystring: ResultsQuery,
        response: { 200: Envelope(OfficerResults, 'Results found.') },
      },
    },
    async (request) => ok(await showResults(context, actorOf(request), request.query), 'Results found.'),
  );
}
