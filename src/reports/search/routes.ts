import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { examplesOf, ok } from '../../core/http/envelope.ts';
import { SearchQuery, SearchResult } from './schema.ts';
import { MAX_COUNTED } from './store.ts';
import { search } from './view.ts';

const SearchResults = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Array(SearchResult),
    total: Type.Integer({
      description: `How many customers, accounts, payments and invoices match. Counting stops at ${MAX_COUNTED}.`,
    }),
    message: Type.String(),
  },
  {
    description: 'Search results.',
    examples: [{ ...ok(examplesOf(SearchResult), 'Search results.'), total: 1 }],
  },
);

export function searchRoutes(api: Api, context: Context): void {
  api.get(
    '/search',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Search'],
        operationId: 'searchEverything',
        summary: 'Search customers, accounts, payments and invoices',
        description:
          'At most 20 results: first exact matches, then values that begin with the text, then customers with the text inside a name, phone, e-mail or national id. ' +
          'A customer or an account also has the product and the days past due. ' +
          'Results that the caller is not allowed to read (`customers:read`, `payments:read`, `invoices:read`) are left out.',
        querystring: SearchQuery,
        response: { 200: SearchResults },
      },
    },
    async (request) => {
      const { found, total } = await search(context, actorOf(request), request.query);
      return { ...ok(found, 'Search results.'), total };
    },
  );
}
