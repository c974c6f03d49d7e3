import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Context } from '../../core/context.ts';
import type { CopyPool } from '../../core/database/copy-pool.ts';
import { actorOf, callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { AppError, notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { createValidatorCompiler } from '../../core/http/validation.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { XLSX_TYPE } from '../../core/values/xlsx-records.ts';
import { checkSize, receiveStatement } from './receive-statement.ts';
import type { Stage } from './rules.ts';
import {
  ProviderStatement,
  ProviderStatementLine,
  providerStatementLineList,
  providerStatementList,
  ReconcileStatementBody,
  StatementFileBody,
  StatementUploadQuery,
} from './schema.ts';
import { findPreviousStatements, findStatement, findTotals, listLines, listStatements } from './store.ts';
import { toLine, toProviderStatement } from './view.ts';
import { startStage } from './work-on-statement.ts';

export function providerStatementRoutes(api: Api, context: Context, copies: CopyPool): void {
  const { db, currency } = context;

  async function getStatement(id: number, { db } = context) {
    const row = await findStatement(db, id);
    if (!row) throw notFound('provider_statement', id);
    return toProviderStatement(row, await findRelated([id], db), currency);
  }

  async function findRelated(ids: readonly number[], of = db) {
    return { totals: await findTotals(of, ids), previous: await findPreviousStatements(of, ids) };
  }

  async function begin(
    request: FastifyRequest<{ Params: Static<typeof IdParams> }>,
    reply: FastifyReply,
    stage: Stage,
    message: string,
    reconciliationDate?: PlainDate,
  ) {
    const { id } = request.params;
    return answerOnce(context, request, reply, async (txContext) => {
      await startStage(txContext, actorOf(request), id, stage, reconciliationDate);
      return ok(await getStatement(id, txContext), message);
    });
  }

  api.register(async (uploads) => {
    const compileValidator = createValidatorCompiler(context);
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser(['text/csv', XLSX_TYPE], (_request, file, done) => done(null, file));
    uploads.addContentTypeParser('*', async (request: FastifyRequest) => {
      throw notCsv(request);
    });

    uploads.post(
      '/reconciliations/statements',
      {
        config: {
          access: 'reconciliations:create',
          rate: 'bulk',
          errors: ['DUPLICATE_ENTRY'],
          bodyTimeoutMs: context.config.limits.uploadMs,
          answerTimeoutMs: context.config.limits.uploadAnswerMs,
        },
        schema: {
          tags: ['Reconciliation'],
          operationId: 'uploadProviderStatement',
          summary: 'Upload a statement of the provider',
          description:
            'Send a CSV file, or an XLSX workbook (`Content-Type: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`), as the portal of the provider exports it. A CSV file may have at most 64 MiB and 1,000,000 lines, a workbook at most 32 MiB. Exactly one sheet of a workbook must have the header. The columns of a CSV file are separated by commas, semicolons or tabs. The encoding is UTF-8, Windows-1252 or UTF-16. If the upload is refused because its encoding is ambiguous, declare the charset in Content-Type. The columns Receipt No., Completion Time, Transaction Status and Paid In are required, in any order. If the file is refused, no line is stored. A file with dates such as 03/04/2026 is refused if none of its dates shows whether the day or the month comes first, and `dateOrder` does not say so. A line that cannot be read is stored with the result unreadable. A job then compares the lines with the payments, and GET shows the progress. A file that was uploaded before is refused with DUPLICATE_ENTRY and the id of the earlier statement.',
          querystring: StatementUploadQuery,
          body: { content: { 'text/csv': { schema: StatementFileBody } } },
          response: { 201: Envelope(ProviderStatement, 'Statement received.') },
        },
        // The file is validated while it is read.
        validatorCompiler: ({ httpPart, schema }) =>
          httpPart === 'body' ? () => true : compileValidator({ schema, httpPart }),
      },
      async (request: FastifyRequest<{ Querystring: Static<typeof StatementUploadQuery> }>, reply) => {
        // If the upload is refused, the rest of the file is not read, so the connection must be closed.
        reply.header('connection', 'close');
        const uploader = { actor: actorOf(request), caller: callerOf(request) };
        const id = await receiveStatement(context, copies, uploader, {
          ...fileOf(request),
          dateOrder: request.query.dateOrder,
        });
        reply.status(201).removeHeader('connection');
        return ok(await getStatement(id), 'Statement received.');
      },
    );
  });

  api.get(
    '/reconciliations/statements',
    {
      config: { access: 'reconciliations:read' },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'listProviderStatements',
        summary: 'List statements of the mobile-money provider',
        querystring: providerStatementList.query,
        response: { 200: ListEnvelope(ProviderStatement, 'Statements found.') },
      },
    },
    async (request) => {
      const page = await listStatements(db, request.query);
      const ids = page.rows.map(({ id }) => id);
      const related = await findRelated(ids);
      const rows = page.rows.map((row) => toProviderStatement(row, related, currency));
      return okList({ ...page, rows }, 'Statements found.');
    },
  );

  api.get(
    '/reconciliations/statements/:id',
    {
      config: { access: 'reconciliations:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'getProviderStatement',
        summary: 'Get a provider statement and its progress',
        description:
          'The answer shows the status of the work on the statement, and the number and sum of the lines of each result.',
        params: IdParams,
        response: { 200: Envelope(ProviderStatement, 'Statement found.') },
      },
    },
    async (request) => ok(await getStatement(request.params.id), 'Statement found.'),
  );

  api.get(
    '/reconciliations/statements/:id/lines',
    {
      config: { access: 'payers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'listProviderStatementLines',
        summary: 'List the lines of a provider statement',
        description: 'Filter by result, for example filter[result]=missing_in_books.',
        params: IdParams,
        querystring: providerStatementLineList.query,
        response: { 200: ListEnvelope(ProviderStatementLine, 'Lines found.') },
      },
    },
    async (request) => {
      const { id } = await getStatement(request.params.id);
      const page = await listLines(db, id, request.query);
      return okList({ ...page, rows: page.rows.map((row) => toLine(row, currency)) }, 'Lines found.');
    },
  );

  api.post(
    '/reconciliations/statements/:id/match',
    {
      config: { access: 'reconciliations:create', rate: 'bulk', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'matchProviderStatement',
        summary: 'Compare a provider statement with the books',
        description:
          'A job compares each line with the payments. If staff recorded the transaction of a line, the line is first processed like a provider notification: the payment is linked to the transaction, or there is a conflict, which finance resolves.',
        params: IdParams,
        response: { 200: Envelope(ProviderStatement, 'Matching started.') },
      },
    },
    (request, reply) => begin(request, reply, 'matching', 'Matching started.'),
  );

  api.post(
    '/reconciliations/statements/:id/import',
    {
      config: { access: 'reconciliations:create', rate: 'bulk', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'importProviderStatement',
        summary: 'Import missing payments of a statement',
        description:
          'A job posts each line whose result is missing_in_books, as if the provider had sent a notification. The payment is matched to its account, or is unmatched. It is safe to repeat the request, even if the notifications arrive at the same time.',
        params: IdParams,
        response: { 200: Envelope(ProviderStatement, 'Import started.') },
      },
    },
    (request, reply) => begin(request, reply, 'importing', 'Import started.'),
  );

  api.post(
    '/reconciliations/statements/:id/reconcile',
    {
      config: { access: 'reconciliations:create', rate: 'bulk', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'reconcileProviderStatement',
        summary: 'Reconcile the matched payments of a statement',
        description:
          'A job puts matched payments into new batches of up to 10,000. It leaves out payments that are already in a batch. It is safe to repeat the request. To list the batches, use GET /reconciliations?filter[providerStatementId]=:id.',
        params: IdParams,
        body: ReconcileStatementBody,
        response: { 200: Envelope(ProviderStatement, 'Reconciling started.') },
      },
    },
    (request, reply) =>
      begin(request, reply, 'reconciling', 'Reconciling started.', request.body.reconciliationDate),
  );
}

function fileOf(request: FastifyRequest): { file: Readable; charset: string | undefined } {
  checkSize(Number(request.headers['content-length'] ?? 0));
  if (!(request.body instanceof Readable)) throw notCsv(request);
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  return { file: request.body, charset };
}

function notCsv({ headers }: FastifyRequest): AppError {
  const isSpreadsheet = /excel|spreadsheet/i.test(headers['content-type'] ?? '');
  const advice = isSpreadsheet ? ' Save a spreadsheet as XLSX or as "CSV UTF-8" first.' : '';
  const types = `text/csv or ${XLSX_TYPE}`;
  return new AppError('VALIDATION_ERROR', `Send the file with Content-Type: ${types}.${advice}`, {
    status: 415,
  });
}
