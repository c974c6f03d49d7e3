import { Type } from 'typebox';
import { Choice, Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { FILE_NAMES } from '../format-rules.ts';
import { PortfolioFile } from '../format-schema.ts';
import { IMPORT_STATUSES } from './rules.ts';

const SEVERITIES = ['error', 'warning'] as const;

export const ImportFileParams = Type.Object({
  id: { ...Id, examples: [1] },
  file: { ...PortfolioFile, examples: ['accounts'] },
});

export const ImportFileBody = Type.String({
  format: 'binary',
  examples: [
    [
      'external_id,customer,product,pay_plan,opened_at,instalment,opening_paid,opening_paid_on,source_paid',
      'LOAN-9001,CRM-1001,SHS-40,"Weekly, one year",2026-10-05,450,2900,2026-10-12,3350',
      '',
    ].join('\r\n'),
  ],
});

export const Import = Type.Object(
  {
    id: Id,
    status: Choice('ImportStatus', IMPORT_STATUSES, {
      description:
        'While the status is `checking`, `running` or `undoing`, a job works on the import. A run that fails, or finds errors, has written nothing.',
    }),
    progress: Type.Integer({
      description:
        'The progress of the job in percent, while the status is `checking`, `running` or `undoing`.',
    }),
    failure: Nullable(
      Type.String({ description: 'Why the last check or run failed, or why the import was not undone.' }),
    ),
    files: Type.Array(
      Type.Object(
        {
          file: PortfolioFile,
          sizeBytes: Type.Integer(),
          sha256: Type.String({ description: 'SHA-256 of the file.' }),
        },
        { title: 'ImportFile' },
      ),
      {
        description:
          'The uploaded files. They are deleted when the import is done, or if nobody has worked on it for 30 days.',
      },
    ),
    rows: Type.Object(Object.fromEntries(FILE_NAMES.map((file) => [file, Type.Optional(Type.Integer())])), {
      description: 'The number of rows of each file, from the last check.',
    }),
    errors: Type.Integer({ description: 'The number of errors that the last check found.' }),
    warnings: Type.Integer(),
    differences: Type.Integer({
      description: 'The number of account figures that differ from those of the source system.',
    }),
    checks: Type.Array(
      Type.Object(
        {
          check: Type.String(),
          checkedRowCount: Type.Integer({ description: 'The number of checked rows of the whole database.' }),
          violationCount: Type.Integer(),
        },
        { title: 'ImportProofCheck' },
      ),
      {
        description:
          'The results of the checks before the import was committed. `npm run verify` does the same checks.',
      },
    ),
    doneAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Import',
    examples: [
      {
        id: 1,
        status: 'uploading',
        progress: 0,
        failure: null,
        files: [
          {
            file: 'accounts',
            sizeBytes: 183,
            sha256: '6f0e1c5b6ac2f9a5d5a6b9d9a4b0f6b2a2f0c9b8d7e6f5a4b3c2d1e0f9a8b7c6',
          },
        ],
        rows: {},
        errors: 0,
        warnings: 0,
        differences: 0,
        checks: [],
        doneAt: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const ImportProblem = Type.Object(
  {
    id: Id,
    severity: Choice('ImportSeverity', SEVERITIES),
    file: PortfolioFile,
    line: Nullable(Type.Integer({ description: 'The line of the file. Null for the whole file.' })),
    column: Nullable(Type.String()),
    value: Nullable(Type.String({ description: 'The cell as it is in the file, at most 200 characters.' })),
    problem: Type.String({
      description:
        'What is wrong, as the end of a sentence that starts with the value. If the value is null, the sentence starts with the column, line or file.',
    }),
    allowed: Nullable(Type.String({ description: 'What is allowed instead.' })),
  },
  {
    title: 'ImportProblem',
    examples: [
      {
        id: 1,
        severity: 'error',
        file: 'customers',
        line: 17,
        column: 'phone',
        value: '2.54712E+11',
        problem: 'is a number that the spreadsheet has shortened, so its last digits are lost',
        allowed: 'the full digits: format the column as text, enter the value again, and save the file again',
      },
    ],
  },
);

export const ImportDifference = Type.Object(
  {
    id: Id,
    line: Type.Integer({ description: 'The line of accounts.csv.' }),
    account: Type.String({ description: 'The external id of the account.' }),
    figure: Type.String({
      description: 'One of payment_count, paid, balance, arrears, paid_until and status.',
    }),
    source: Type.String({ description: 'The value in the file.' }),
    computed: Type.String({ description: 'The value that this service computes.' }),
  },
  {
    title: 'ImportDifference',
    examples: [
      { id: 1, line: 17, account: 'LOAN-2001', figure: 'paid', source: '3600.00', computed: '3200.00' },
    ],
  },
);

export const ImportProblemsFile = Type.String({
  examples: ['file,line,column,value,severity,problem,allowed\r\n'],
});

export const importList = defineList(
  {
    id: { kind: 'id', column: 'i.id' },
    status: { kind: 'enum', column: 'i.status', values: IMPORT_STATUSES },
    createdAt: { kind: 'timestamp', column: 'i.created_at' },
    updatedAt: { kind: 'timestamp', column: 'i.updated_at' },
  },
  {},
);

export const importProblemList = defineList(
  {
    id: { kind: 'id', column: 'p.id' },
    severity: { kind: 'enum', column: 'p.severity', values: SEVERITIES },
    file: { kind: 'enum', column: 'p.file', values: FILE_NAMES },
    line: { kind: 'integer', column: 'p.line', nullable: true },
    createdAt: { kind: 'timestamp', column: 'i.created_at' },
  },
  {},
);

export const importDifferenceList = defineList(
  {
    id: { kind: 'id', column: 'd.id' },
    line: { kind: 'integer', column: 'd.line' },
    account: { kind: 'text', column: 'd.account' },
    figure: { kind: 'text', column: 'd.figure' },
    createdAt: { kind: 'timestamp', column: 'i.created_at' },
  },
  {},
);
