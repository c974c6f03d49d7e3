import { type Static, Type } from 'typebox';
import type { PhoneProblem, VerificationStatus } from '../core/database/tables.ts';
import {
  answerOf,
  bodyOf,
  type DeclaredFields,
  exampleOf,
  listFieldsOf,
  type ValuesOf,
} from '../core/declared-fields.ts';
import { BulkBody, BulkResult } from '../core/http/bulk.ts';
import { ChangedExternalFields, ExternalFields, ShownExternalFields } from '../core/http/external-ids.ts';
import { Choice, Email, Id, LANGUAGES, Nullable, Text, Timestamp } from '../core/http/fields.ts';
import { defineList } from '../core/lists/query.ts';
import { emailKey } from '../core/values/email.ts';
import { nationalIdKey } from './rules.ts';

export const VERIFICATION_STATUSES = [
  'pending',
  'verified',
  'rejected',
  'expired',
] as const satisfies VerificationStatus[];

export const PHONE_PROBLEMS = [
  'invalid',
  'other_customer',
  'other_account',
] as const satisfies PhoneProblem[];

const PHONE_FORMS =
  'A national number, which is converted to the international form, or + and the 8 to 15 digits of a number of another country.';

const phone = (format: string) =>
  Type.String({
    maxLength: 30,
    format,
    description: PHONE_FORMS,
    example: '+254712345678',
  });
const Phone = phone('phone');
/** Also accepts a number that is stored since an earlier version, and that is not changed. */
const ChangedPhone = phone('changed-phone');

const nationalId = (format: string) =>
  Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 50, format })));

const secondPhone = (schema: ReturnType<typeof phone>) =>
  Type.Optional(
    Nullable({
      ...schema,
      description: `Another number to call the customer. Payments of this number match no account. ${PHONE_FORMS}`,
    }),
  );

const name = { schema: Text(100), trimmed: true, personal: true, searched: true, list: true } as const;

const nameFields = {
  firstName: { ...name, file: 'The first name.', example: 'Wanjiru' },
  lastName: { ...name, file: 'The last name.', example: 'Kamau' },
} satisfies DeclaredFields;

const otherFields = {
  language: {
    schema: Choice('CustomerLanguage', LANGUAGES, {
      description:
        'The language of statements and texts for the customer. Null: the language of the company.',
    }),
    optional: true,
    file: 'The language of statements and texts for the customer. Empty: the language of the company.',
    example: 'sw',
  },
} satisfies DeclaredFields;

export const customerFields = { ...nameFields, ...otherFields };

/** What staff enter, as it is stored: the phones are in E.164. */
export type CustomerValues = ValuesOf<typeof customerFields> & {
  email: string | null;
  phone: string;
  secondPhone: string | null;
  nationalId: string | null;
};

const optionalFields = {
  email: Type.Optional(Nullable(Email)),
  secondPhone: secondPhone(Phone),
  nationalId: nationalId('new-identifier'),
  ...bodyOf(otherFields),
  ...ExternalFields,
};
/** They also accept ids that are stored since an earlier version, and that are not changed. */
const changedFields = {
  ...optionalFields,
  secondPhone: secondPhone(ChangedPhone),
  nationalId: nationalId('identifier'),
  ...ChangedExternalFields,
};

export const NewCustomer = Type.Object(
  { ...bodyOf(nameFields), phone: Phone, ...optionalFields },
  {
    title: 'NewCustomer',
    examples: [
      {
        ...exampleOf(nameFields),
        phone: '0712 345 678',
        email: 'wanjiru@example.com',
        secondPhone: '0733 111 222',
        nationalId: '23456789',
        ...exampleOf(otherFields),
        externalId: 'CRM-1001',
        metadata: { region: 'north' },
      },
    ],
  },
);
export type NewCustomer = Static<typeof NewCustomer>;

export const CustomerChanges = Type.Object(
  {
    ...Type.Partial(Type.Object(bodyOf(nameFields))).properties,
    phone: Type.Optional(ChangedPhone),
    ...changedFields,
  },
  { minProperties: 1, title: 'CustomerChanges', examples: [{ phone: '+254722000111' }] },
);
export type CustomerChanges = Static<typeof CustomerChanges>;

const { externalId: _inPath, ...upsertFields } = NewCustomer.properties;
export const CustomerUpsert = Type.Object(
  {
    ...upsertFields,
    phone: ChangedPhone,
    secondPhone: changedFields.secondPhone,
    nationalId: changedFields.nationalId,
  },
  {
    title: 'CustomerUpsert',
    examples: [
      { firstName: 'Wanjiru', lastName: 'Kamau', phone: '0712 345 678', metadata: { region: 'east' } },
    ],
  },
);
export type CustomerUpsert = Static<typeof CustomerUpsert>;

export const Customer = Type.Object(
  {
    id: Id,
    ...answerOf(nameFields),
    email: Nullable(Type.String()),
    phone: Type.String({ description: 'E.164' }),
    phoneProblem: Nullable(
      Choice('PhoneProblem', PHONE_PROBLEMS, {
        description:
          'Why a phone that an earlier version stored is wrong and was not repaired. `invalid`: it is no phone number of your country. `other_customer`, `other_account`: it has a 0 after the country code. Without it, another customer would have the same phone, or payments of this phone would match another account or none.',
      }),
    ),
    secondPhone: Nullable(Type.String({ description: 'E.164' })),
    nationalId: Nullable(Type.String()),
    ...answerOf(otherFields),
    kycStatus: Nullable(
      Choice('VerificationStatus', VERIFICATION_STATUSES, {
        description:
          'The status of the latest record by a user with the permission `kyc:decide`. Pending if there are only records by other users, and null if there is no record.',
      }),
    ),
    kycReviewPending: Type.Boolean({
      description:
        'Whether someone has to decide: the latest KYC record is pending, or the name or the national id was changed after the verification.',
    }),
    ...ShownExternalFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Customer',
    examples: [
      {
        id: 1,
        ...exampleOf(nameFields),
        email: 'wanjiru@example.com',
        phone: '+254712345678',
        phoneProblem: null,
        secondPhone: '+254733111222',
        nationalId: '23456789',
        ...exampleOf(otherFields),
        kycStatus: 'verified',
        kycReviewPending: false,
        externalId: 'CRM-1001',
        metadata: { region: 'north' },
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const CheckedCustomer = Type.Object(
  { phone: Type.String({ description: 'The phone as it would be stored, in E.164.' }) },
  { title: 'CheckedCustomer', examples: [{ phone: '+254712345678' }] },
);

export const ExpandedCustomer = Type.Object(
  { id: Id, name: Type.String(), phone: Type.String({ description: 'E.164' }) },
  { title: 'ExpandedCustomer', examples: [{ id: 1, name: 'Wanjiru Kamau', phone: '+254712345678' }] },
);
export type ExpandedCustomer = Static<typeof ExpandedCustomer>;

export const NewCustomers = BulkBody(NewCustomer, 'NewCustomers');
export const CreatedCustomers = BulkResult(Customer, 'CreatedCustomers');

export const customerList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    ...listFieldsOf(nameFields, 'c'),
    email: { kind: 'text', column: 'c.email', key: { column: 'c.email_key', of: emailKey }, nullable: true },
    phone: { kind: 'text', column: 'c.phone' },
    phoneProblem: { kind: 'enum', column: 'c.phone_problem', nullable: true, values: PHONE_PROBLEMS },
    secondPhone: { kind: 'text', column: 'c.second_phone', nullable: true },
    nationalId: {
      kind: 'text',
      column: 'c.national_id',
      key: { column: 'c.national_id_key', of: nationalIdKey },
      nullable: true,
    },
    ...listFieldsOf(otherFields, 'c'),
    kycStatus: { kind: 'enum', column: 'c.kyc_status', nullable: true, values: VERIFICATION_STATUSES },
    kycReviewPending: { kind: 'boolean', column: 'c.kyc_review_pending' },
    externalId: { kind: 'text', column: 'c.external_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
    updatedAt: { kind: 'timestamp', column: 'c.updated_at' },
  },
  {
    search: Type.Optional(
      Type.String({
        examples: ['wanjiru'],
        maxLength: 100,
        format: 'query-text',
        description:
          'Part of a name, e-mail, first or second phone or national id, in upper or lower case, with or without accents, apostrophes, dots and hyphens. All words must occur. A phone number can have any usual spelling.',
      }),
    ),
  },
  'c.metadata',
);
