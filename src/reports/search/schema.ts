import { type Static, Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../../accounts/status/rules.ts';
import { Choice, Choices, Id, Nullable } from '../../core/http/fields.ts';
import { MATCHED_FIELDS, MATCHES, MAX_ACCOUNTS_READ, SEARCHED_TYPES } from './rules.ts';

export const MAX_RESULTS = 20;

export const SearchQuery = Type.Object({
  q: Type.String({
    minLength: 2,
    maxLength: 100,
    format: 'text',
    description:
      'A name, phone number in national or international form, e-mail, national id, external id, account number, invoice number or payment reference, or the beginning of one of these.',
    examples: ['Wanjiru'],
  }),
  types: Type.Optional(Choices(SEARCHED_TYPES, 'Only these types. Default: all.')),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RESULTS, default: MAX_RESULTS })),
});
export type SearchQuery = Static<typeof SearchQuery>;

export const SearchResult = Type.Object(
  {
    type: Type.Enum([...SEARCHED_TYPES]),
    id: Id,
    title: Type.String({
      description: 'The name of a customer, the number of an account or invoice, the reference of a payment.',
    }),
    subtitle: Nullable(
      Type.String({
        description:
          'The phone of a customer, the customer of an account or invoice, the account number of a payment.',
      }),
    ),
    status: Nullable(Type.String({ description: 'Null for a customer.' })),
    externalId: Nullable(Type.String()),
    matchedOn: Type.Enum([...MATCHED_FIELDS], { description: 'The field that matched.' }),
    match: Type.Enum([...MATCHES], { description: 'Best first: exact, prefix, part.' }),
    account: Nullable(
      Type.Object(
        {
          id: Id,
          accountNumber: Type.String(),
          status: Choice('AccountStatus', ACCOUNT_STATUSES),
          productName: Nullable(Type.String({ description: 'Null without `catalogue:read`.' })),
          daysPastDue: Type.Integer(),
        },
        {
          title: 'FoundAccount',
          description:
            'For an account: the account itself. For a customer: the account that has been late for the longest time, or else the newest one on ' +
            `which money is still due, or else the newest one. Null for a customer without accounts, a payment or an invoice.`,
        },
      ),
    ),
    accountCount: Nullable(
      Type.Integer({
        description: `For a customer: the number of accounts. Counting stops at ${MAX_ACCOUNTS_READ}, and only these newest accounts are compared. Otherwise null.`,
      }),
    ),
  },
  {
    title: 'SearchResult',
    examples: [
      {
        type: 'customer',
        id: 1,
        title: 'Wanjiru Kamau',
        subtitle: '+254712345678',
        status: null,
        externalId: 'CRM-1001',
        matchedOn: 'name',
        match: 'prefix',
        account: {
          id: 1,
          accountNumber: 'ACC10000012',
          status: 'active',
          productName: 'Solar Home System 50 W',
          daysPastDue: 0,
        },
        accountCount: 1,
      },
    ],
  },
);
