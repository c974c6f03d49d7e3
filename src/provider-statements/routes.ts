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
import { receiveProviderStatement, startStage } from './commands.ts';
import { checkSize } from './reader.ts';
import type { Stage } from './rules.ts';
import {
  ProviderStatement,
  ProviderStatementLine,
  providerStatementLineList,
  providerStatementList,
  ReconcileStatementBody,
  StatementFileBody,
} from './schema.ts';
import { findProviderStatement, listLines, listProviderStatements } from './store.ts';
import type { ProviderStatementWork } from './work.ts';

/** 64 MiB at 75 kB a second, which a field office's line may have. */
const LONGEST_UPLOAD_MS = 15 * 60_000;
/** From its last byte until all of it is stored. */
const LONGEST_STORING_MS = 60_000;

interface Parts {
  copies: CopyPool;
  work: ProviderStatementWork;
}

export function providerStatementRoutes(api: Api, context: Context, { copies, work }: Parts): void {
  const { db, currency } = context;

  async function found(id: number, { db } = context) {
    const statement = await findProviderStatement(db, currency, id);
    if (!statement) throw notFound('provider_statement', id);
    return statement;
  }

  /** The work goes on after the answer, and after the transaction that holds it. */
  async function begin(
    request: FastifyRequest<{ Params: Static<typeof IdParams> }>,
    reply: FastifyReply,
    stage: Stage,
    message: string,
    reconciliationDate?: PlainDate,
  ) {
    const { id } = request.params;
    const answer = await repeatable(context, request, reply, async (once) => {
      await startStage(once, actorOf(request), id, stage, reconciliationDate);
      return ok(await found(id, once), message);
    });
    work.start(id);
    return answer;
  }

  api.register(async (uploads) => {
    const compileValidator = createValidatorCompiler(context);
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser('text/csv', (_request, file, done) => done(null, file));
    uploads.addContentTypeParser('*', async (request: FastifyRequest) => {
      throw noCsv(request);
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
            'As its portal exports it. At most 64 MiB and 1,000,000 lines, separated by commas, semicolons or tabs, in UTF-8, Windows-1252 or UTF-16; name the charset in Content-Type where the answer asks for it. Columns in any order; Receipt No., Completion Time, Transaction Status and Paid In are needed. Stored as a whole or not at all; then its lines are compared with the payments, and GET shows how far that is. The same file again: DUPLICATE_ENTRY with the id of the first.',
          body: { content: { 'text/csv': { schema: StatementFileBody } } },
          response: { 201: Envelope(ProviderStatement, 'Statement received.') },
        },
        // The file is read as it comes in; what is wrong in it is found by its reader.
        validatorCompiler: ({ httpPart, schema }) =>
          httpPart === 'body' ? () => true : compileValidator({ schema, httpPart }),
      },
      async (request, reply) => {
        // What a refusal leaves unread is not waited for.
        reply.header('connection', 'close');
        const uploader = { actor: actorOf(request), caller: callerOf(request) };
        const { id } = await receiveProviderStatement(context, copies, uploader, fileOf(request));
        work.start(id);
        reply.status(201).removeHeader('connection');
        return ok(await found(id), 'Statement received.');
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
    async (request) => okList(await listProviderStatements(db, currency, request.query), 'Statements found.'),
  );

  api.get(
    '/reconciliations/statements/:id',
    {
      config: { access: 'reconciliations:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'getProviderStatement',
        summary: 'Get a provider statement and its progress',
        description: 'One statement of the provider: how far it is, and what became of its lines.',
        params: IdParams,
        response: { 200: Envelope(ProviderStatement, 'Statement found.') },
      },
    },
    async (request) => ok(await found(request.params.id), 'Statement found.'),
  );

  api.get(
    '/reconciliations/statements/:id/lines',
    {
      config: { access: 'payers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'listProviderStatementLines',
        summary: 'List the lines of a provider statement',
        description: 'By what became of them: filter[result]=missing_in_books.',
        params: IdParams,
        querystring: providerStatementLineList.query,
        response: { 200: ListEnvelope(ProviderStatementLine, 'Lines found.') },
      },
    },
    async (request) => {
      const { id } = await found(request.params.id);
      return okList(await listLines(db, currency, id, request.query), 'Lines found.');
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
        summary: 'Import what the books lack',
        description:
          'Each line that is missing_in_books goes the way of a notification: it is matched to its account or waits among the unmatched. Safe to repeat, also beside the notifications themselves.',
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
          'In batches of 10,000, of those that are in no batch yet; safe to repeat. Its batches: GET /reconciliations?filter[providerStatementId]=:id',
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
  if (!(request.body instanceof Readable)) throw noCsv(request);
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  return { file: request.body, charset };
}

function noCsv({ headers }: FastifyRequest): AppError {
  const isSpreadsheet = /excel|spreadsheet/i.test(headers['content-type'] ?? '');
  const advice = isSpreadsheet ? ' Save a spreadsheet as "CSV UTF-8" first.' : '';
  return new AppError('VALIDATION_ERROR', `Send the file with Content-Type: text/csv.${advice}`, {
    status: 415,
  });
}
