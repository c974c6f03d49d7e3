import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Context } from '../core/context.ts';
import type { CopyPool } from '../core/database/copy.ts';
import { actorOf, callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { AppError, notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { createValidatorCompiler } from '../core/http/validation.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { startStage } from './commands.ts';
import type { Stage } from './rules.ts';
import {
  ProviderStatement,
  ProviderStatementLine,
  providerStatementLineList,
  providerStatementList,
  ReconcileStatementBody,
  StatementFileBody,
} from './schema.ts';
import { findStatement, findTotals, listLines, listStatements } from './store.ts';
import { checkSize, receiveStatement } from './upload-commands.ts';
import { toLine, toStatement } from './view.ts';

/** 64 MiB at 75 kB/s, as from a field office. */
const LONGEST_UPLOAD_MS = 15 * 60_000;
/** From the last byte of the file until it is stored. */
const LONGEST_STORING_MS = 60_000;

export function providerStatementRoutes(api: Api, context: Context, copies: CopyPool): void {
  const { db, currency } = context;

  async function getStatement(id: number, { db } = context) {
    const row = await findStatement(db, id);
    if (!row) throw notFound('provider_statement', id);
    return toStatement(row, await findTotals(db, [id]), currency);
  }

  async function begin(
    request: FastifyRequest<{ Params: Static<typeof IdParams> }>,
    reply: FastifyReply,
    stage: Stage,
    message: string,
    reconciliationDate?: PlainDate,
  ) {
    const { id } = request.params;
    return repeatable(context, request, reply, async (once) => {
      await startStage(once, actorOf(request), id, stage, reconciliationDate);
      return ok(await getStatement(id, once), message);
    });
  }

  api.register(async (uploads) => {
    const compileValidator = createValidatorCompiler(context);
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser('text/csv', (_request, file, done) => done(null, file));
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
          bodyTimeoutMs: LONGEST_UPLOAD_MS,
          answerTimeoutMs: LONGEST_STORING_MS,
        },
        schema: {
          tags: ['Reconciliation'],
          operationId: 'uploadProviderStatement',
          summary: 'Upload a statement of the provider',
          description:
            'A CSV file as the portal of the provider exports it: at most 64 MiB and 1,000,000 lines, columns separated by commas, semicolons or tabs, in UTF-8, Windows-1252 or UTF-16. Name the charset in Content-Type if the answer asks for it. The columns Receipt No., Completion Time, Transaction Status and Paid In are required, in any order. The file is stored as a whole or not at all. A job then compares its lines with the payments; GET shows the progress. The same file again is a DUPLICATE_ENTRY with the id of the first.',
          body: { content: { 'text/csv': { schema: StatementFileBody } } },
          response: { 201: Envelope(ProviderStatement, 'Statement received.') },
        },
        // The file is validated while it is read.
        validatorCompiler: ({ httpPart, schema }) =>
          httpPart === 'body' ? () => true : compileValidator({ schema, httpPart }),
      },
      async (request, reply) => {
        // After a refusal, the rest of the file is not read.
        reply.header('connection', 'close');
        const uploader = { actor: actorOf(request), caller: callerOf(request) };
        const id = await receiveStatement(context, copies, uploader, fileOf(request));
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
      const totals = await findTotals(db, ids);
      const rows = page.rows.map((row) => toStatement(row, totals, currency));
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
          'The status of the work on the statement, and the number and sum of the lines of each result.',
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
          'Before a line is compared with a manual payment, it is posted as the notification would be: the payment is linked to the transaction, or the line is in conflict and finance resolves the notification.',
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
          'Posts each line that is missing_in_books like a notification: it is matched to its account or becomes an unmatched payment. Safe to repeat, also when the notifications arrive at the same time.',
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
        summary: 'Reconcile the payments that a statement matched',
        description:
          'In batches of 10,000 payments that are in no batch yet. Safe to repeat. List its batches by GET /reconciliations?filter[providerStatementId]=:id.',
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
  const advice = isSpreadsheet ? ' Save a spreadsheet as "CSV UTF-8" first.' : '';
  return new AppError('VALIDATION_ERROR', `Send the file with Content-Type: text/csv.${advice}`, {
    status: 415,
  });
}
