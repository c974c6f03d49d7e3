import { type Static, Type } from 'typebox';
import type { VerificationType } from '../../core/database/tables.ts';
import { Choice, DateText, EntryDate, Id, ScalarValue, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { VERIFICATION_STATUSES } from '../schema.ts';

const VERIFICATION_TYPES = [
  'national_id',
  'passport',
  'alien_id',
  'driving_licence',
  'voter_id',
  'tax_pin',
  'business_registration',
] as const satisfies VerificationType[];

/** What the user has to confirm before a customer is verified. */
export const KYC_WARNINGS = {
  different_number: 'The number of the document differs from the national id of the customer.',
} as const;
const KYC_WARNING_CODES = Object.keys(KYC_WARNINGS) as (keyof typeof KYC_WARNINGS)[];

const MAX_DOCUMENTS = 20;
const MAX_DOCUMENT_KEYS = 20;
const MAX_KEY_LENGTH = 50;

type Scalar = string | number | boolean | null;
export type KycDocument = string | { [key: string]: Scalar };

/** A text or an object. The values of known keys are validated. Other keys can have any scalar value. */
const KycDocument = Type.Unsafe<KycDocument>({
  // Generators of TypeScript cannot type other keys more narrowly than the named, optional ones.
  'x-described-as': Type.Union(
    [
      Type.String({ minLength: 1, maxLength: 500 }),
      Type.Object(
        {
          type: Type.Optional(Type.String({ minLength: 1, maxLength: 50 })),
          number: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 100,
              description:
                'A number that a spreadsheet has changed, such as 12345678.0, is refused unless it is stored.',
            }),
          ),
          url: Type.Optional(
            Type.String({ maxLength: 1000, description: 'Begins with http:// or https://.' }),
          ),
          issuedAt: Type.Optional(DateText),
          expiresAt: Type.Optional(EntryDate),
        },
        { minProperties: 1, maxProperties: MAX_DOCUMENT_KEYS, additionalProperties: true },
      ),
    ],
    {
      description:
        'A text, or an object. Other keys of the object can have a text, a number, a boolean or null. From the day `expiresAt` on, the document is no longer valid. At most 2 KB.',
    },
  ),
  type: ['string', 'object'],
  description:
    'A text, or an object with the known keys `type`, `number`, `url`, `issuedAt` and `expiresAt`. From the day `expiresAt` on, the document is no longer valid. At most 2 KB.',
  minLength: 1,
  maxLength: 500,
  format: 'text',
  maxProperties: MAX_DOCUMENT_KEYS,
  minProperties: 1,
  propertyNames: {
    maxLength: MAX_KEY_LENGTH,
    pattern: '^[A-Za-z][A-Za-z0-9_.-]*$',
    description: `must start with a letter and have at most ${MAX_KEY_LENGTH} letters, digits, _, . and -`,
  },
  properties: {
    type: { type: 'string', minLength: 1, maxLength: 50, format: 'text' },
    number: { type: 'string', minLength: 1, maxLength: 100, format: 'text' },
    url: { type: 'string', maxLength: 1000, pattern: '^https?://[^\\s]+$', format: 'text' },
    issuedAt: { type: 'string', format: 'calendar-date' },
    expiresAt: { type: 'string', format: 'entry-date' },
  },
  additionalProperties: ScalarValue(1000),
});

export const KycUpdate = Type.Object(
  {
    verificationType: Choice('VerificationType', VERIFICATION_TYPES),
    verificationStatus: Choice('VerificationStatus', VERIFICATION_STATUSES),
    documents: Type.Optional(
      Type.Array(KycDocument, { maxItems: MAX_DOCUMENTS, description: 'At most 16 KB in total.' }),
    ),
    confirmation: Type.Optional(
      Type.Object(
        { codes: Type.Array(Choice('KycWarningCode', KYC_WARNING_CODES), { maxItems: 1 }) },
        {
          title: 'KycConfirmation',
          description: `Needed to verify a customer by an identity document with another number (\`different_number\`). ${KYC_WARNINGS.different_number}`,
        },
      ),
    ),
  },
  {
    title: 'KycUpdate',
    examples: [
      {
        verificationType: 'national_id',
        verificationStatus: 'verified',
        documents: [{ type: 'national_id', number: '23456789', issuedAt: '2019-05-06' }],
      },
    ],
  },
);
export type KycUpdate = Static<typeof KycUpdate>;

export const KycRecord = Type.Object(
  {
    id: Id,
    customerId: Id,
    verificationType: Choice('VerificationType', VERIFICATION_TYPES),
    verificationStatus: Choice('VerificationStatus', VERIFICATION_STATUSES),
    documents: Type.Array(Type.Any()),
    actor: Type.String({
      description: 'The e-mail of the user who submitted the record, or `system` if no user submitted it.',
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'KycRecord',
    examples: [
      {
        id: 1,
        customerId: 1,
        verificationType: 'national_id',
        verificationStatus: 'verified',
        documents: [{ type: 'national_id', number: '23456789', issuedAt: '2019-05-06' }],
        actor: 'amina@example.com',
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);
export type KycRecord = Static<typeof KycRecord>;

export const kycList = defineList(
  {
    id: { kind: 'id', column: 'k.id' },
    verificationType: { kind: 'enum', column: 'k.verification_type', values: VERIFICATION_TYPES },
    verificationStatus: { kind: 'enum', column: 'k.verification_status', values: VERIFICATION_STATUSES },
    createdAt: { kind: 'timestamp', column: 'k.created_at' },
  },
  {},
);
