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
import { XLSX_TYPE } from '../../core/values/xlsx-records.ts';
import { checkSize, createImport, startWork, storeFile } from './commands.ts';
import type { ImportWork } from './rules.ts';
import {
  Import,
  ImportDifference,
  ImportFileBody,
  ImportFileParams,
  ImportProblem,
  ImportProblemsFile,
  importDifferenceList,
  importList,
  importProblemList,
} from './schema.ts';
import {
  findAllProblems,
  findImport,
  findImportFiles,
  listDifferences,
  listImports,
  listProblems,
} from './store.ts';
import { problemsCsv, toImport, toImportDifference, toImportProblem } from './view.ts';

export function importRoutes(api: Api, context: Context, copies: CopyPool): void {
  const { db } = context;

  async function getImport(id: number, { db } = context) {
    const row = await findImport(db, id);
    if (!row) throw notFound('import', id);
    return toImport(row, await findImportFiles(db, [id]));
  }

  async function begin(
    request: FastifyRequest<{ Params: Static<typeof IdParams> }>,
    reply: FastifyReply,
    work: ImportWork,
    message: string,
  ) {
    const { id } = request.params;
    return answerOnce(context, request, reply, async (txContext) => {
      await startWork(txContext, actorOf(request), id, work);
      return ok(await getImport(id, txContext), message);
    });
  }

  api.post(
    '/imports',
    {
      config: { access: 'imports:run', repeatable: true },
      schema: {
        tags: ['Portfolio'],
        operationId: 'createImport',
        summary: 'Start the import of a portfolio',
        description:
          'After this request, upload the files, check them, and run the import. Nothing is in the books before the run is done.',
        response: { 201: Envelope(Import, 'Import created.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        reply.status(201);
        return ok(toImport(await createImport(txContext, actorOf(request)), []), 'Import created.');
      }),
  );

  api.get(
    '/imports',
    {
      config: { access: 'imports:run' },
      schema: {
        tags: ['Portfolio'],
        operationId: 'listImports',
        summary: 'List imports of portfolios',
        querystring: importList.query,
        response: { 200: ListEnvelope(Import, 'Imports found.') },
      },
    },
    async (request) => {
      const page = await listImports(db, request.query);
      const files = await findImportFiles(
        db,
        page.rows.map(({ id }) => id),
      );
      return okList({ ...page, rows: page.rows.map((row) => toImport(row, files)) }, 'Imports found.');
    },
  );

  api.get(
    '/imports/:id',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Portfolio'],
        operationId: 'getImport',
        summary: 'Get an import and its progress',
        params: IdParams,
        response: { 200: Envelope(Import, 'Import found.') },
      },
    },
    async (request) => ok(await getImport(request.params.id), 'Import found.'),
  );

  api.register(async (uploads) => {
    const compileValidator = createValidatorCompiler(context);
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser(['text/csv', XLSX_TYPE], (_request, file, done) => done(null, file));
    uploads.addContentTypeParser('*', async () => {
      throw notCsv();
    });

    uploads.put(
      '/imports/:id/files/:file',
      {
        config: {
          access: 'imports:run',
          rate: 'bulk',
          errors: ['NOT_FOUND'],
          bodyTimeoutMs: context.config.limits.uploadMs,
          answerTimeoutMs: context.config.limits.uploadAnswerMs,
        },
        schema: {
          tags: ['Portfolio'],
          operationId: 'uploadImportFile',
          summary: 'Upload a file of an import',
          description:
            'Send a CSV file in UTF-8 of at most 1 GiB, with commas, semicolons or tabs, or an XLSX workbook of at most 32 MiB ' +
            '(`Content-Type: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet`). Exactly one sheet of a workbook must have ' +
            'the header. The header names the columns in any order. ' +
            'The file replaces an earlier file with the same name. The file is read when the import is checked.',
          params: ImportFileParams,
          body: { content: { 'text/csv': { schema: ImportFileBody } } },
          response: { 200: Envelope(Import, 'File received.') },
        },
        // The file is validated when the import is checked.
        validatorCompiler: ({ httpPart, schema }) =>
          httpPart === 'body' ? () => true : compileValidator({ schema, httpPart }),
      },
      async (request, reply) => {
        // If the upload is refused, the rest of the file is not read, so no other request can follow on this connection.
        reply.header('connection', 'close');
        const { id, file } = request.params as Static<typeof ImportFileParams>;
        checkSize(Number(request.headers['content-length'] ?? 0));
        const content: unknown = request.body;
        if (!(content instanceof Readable)) throw notCsv();
        await storeFile(copies, callerOf(request), { id, file, content });
        reply.removeHeader('connection');
        return ok(await getImport(id), 'File received.');
      },
    );
  });

  api.post(
    '/imports/:id/check',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Portfolio'],
        operationId: 'checkImport',
        summary: 'Check the files of an import',
        description:
          'A job reads the files, finds all errors, and compares the figures of the source system with those that this service ' +
          'computes. The job writes nothing to the books.',
        params: IdParams,
        response: { 200: Envelope(Import, 'Check started.') },
      },
    },
    (request, reply) => begin(request, reply, 'checking', 'Check started.'),
  );

  api.post(
    '/imports/:id/run',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Portfolio'],
        operationId: 'runImport',
        summary: 'Write a checked import to the books',
        description:
          'A job checks the files again and writes all rows in one transaction. Before it commits, all checks of the books run. If ' +
          'anything fails, nothing is written. The status of the import must be `checked`, and the import must have no errors.',
        params: IdParams,
        response: { 200: Envelope(Import, 'Run started.') },
      },
    },
    (request, reply) => begin(request, reply, 'running', 'Run started.'),
  );

  api.post(
    '/imports/:id/undo',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Portfolio'],
        operationId: 'undoImport',
        summary: 'Undo an import as a whole',
        description:
          'A job deletes all rows of the import. If a row was used or changed after the import, nothing is deleted: the status is ' +
          '`done` again, and `failure` names the first of these rows.',
        params: IdParams,
        response: { 200: Envelope(Import, 'Undo started.') },
      },
    },
    (request, reply) => begin(request, reply, 'undoing', 'Undo started.'),
  );

  api.get(
    '/imports/:id/problems',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Portfolio'],
        operationId: 'listImportProblems',
        summary: 'List the errors and warnings of an import',
        description: 'The list has the first 10,000 errors and warnings of the last check.',
        params: IdParams,
        querystring: importProblemList.query,
        response: { 200: ListEnvelope(ImportProblem, 'Problems found.') },
      },
    },
    async (request) => {
      const { id } = await getImport(request.params.id);
      const page = await listProblems(db, id, request.query);
      return okList({ ...page, rows: page.rows.map(toImportProblem) }, 'Problems found.');
    },
  );

  api.get(
    '/imports/:id/problems.csv',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Portfolio'],
        operationId: 'getImportProblemsFile',
        summary: 'Get the problems of an import as CSV',
        params: IdParams,
        response: {
          200: { description: 'The problems.', content: { 'text/csv': { schema: ImportProblemsFile } } },
        },
      },
    },
    async (request, reply) => {
      const { id } = await getImport(request.params.id);
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="import_${id}_problems.csv"`)
        .send(problemsCsv(await findAllProblems(db, id)));
    },
  );

  api.get(
    '/imports/:id/differences',
    {
      config: { access: 'imports:run', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Portfolio'],
        operationId: 'listImportDifferences',
        summary: 'List figures that differ from the source',
        description:
          'The list has the first 10,000 account figures, for example paid or status, whose values in accounts.csv differ from those ' +
          'that this service computes. A difference does not prevent the run.',
        params: IdParams,
        querystring: importDifferenceList.query,
        response: { 200: ListEnvelope(ImportDifference, 'Differences found.') },
      },
    },
    async (request) => {
      const { id } = await getImport(request.params.id);
      const page = await listDifferences(db, id, request.query);
      return okList({ ...page, rows: page.rows.map(toImportDifference) }, 'Differences found.');
    },
  );
}

function notCsv(): AppError {
  return new AppError(
    'VALIDATION_ERROR',
    `Send the file with Content-Type: text/csv or ${XLSX_TYPE}. Save another spreadsheet as XLSX or as "CSV UTF-8" first.`,
    { status: 415 },
  );
}
