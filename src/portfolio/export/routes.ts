import { type Context, today } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import { callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { sendFileStream } from '../../core/http/file-stream.ts';
import { Archive, TemplateFile, TemplateParams } from '../format-schema.ts';
import { archivePortfolio, templateOf } from './view.ts';

export function exportRoutes(api: Api, context: Context, copies: CopyPool): void {
  api.get(
    '/exports/portfolio',
    {
      config: { access: 'exports:read', answerTimeoutMs: context.config.limits.exportMs, snapshot: true },
      schema: {
        tags: ['Portfolio'],
        operationId: 'exportPortfolio',
        summary: 'Export the whole portfolio',
        description:
          'A ZIP file with the CSV files that an import reads, such as customers.csv. All files come from one snapshot of the ' +
          'database. They contain the personal data of all customers. If the stream fails, the connection is reset.',
        response: {
          200: { description: 'The files.', content: { 'application/zip': { schema: Archive } } },
        },
      },
    },
    async (request, reply) =>
      sendFileStream(request, reply, {
        name: `portfolio_${today(context)}.zip`,
        type: 'application/zip',
        open: () => archivePortfolio(copies, callerOf(request), context.currency),
      }),
  );

  api.get(
    '/imports/templates/:file',
    {
      config: { access: 'signed-in' },
      schema: {
        tags: ['Portfolio'],
        operationId: 'getImportTemplate',
        summary: 'Get the template of an import file',
        description:
          'A CSV file to fill in with a spreadsheet. It has the header and an example row. The template of credit_moves has only the header.',
        params: TemplateParams,
        response: {
          200: { description: 'The template.', content: { 'text/csv': { schema: TemplateFile } } },
        },
      },
    },
    async (request, reply) => {
      const { file } = request.params;
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${file}.csv"`)
        .send(templateOf(file));
    },
  );
}
