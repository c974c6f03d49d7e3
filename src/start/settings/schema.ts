import { Type } from 'typebox';
import { DateText, Nullable } from '../../core/http/fields.ts';

export const Settings = Type.Object(
  {
    companyName: Type.String(),
    currency: Type.String({ description: 'ISO 4217.' }),
    currencyDecimals: Type.Integer({ description: 'The number of decimals of an amount.' }),
    timeZone: Type.String({ description: 'The time zone of business days, an IANA name.' }),
    today: DateText,
    phoneCountryCode: Type.String({
      description: 'The country code (`+` and digits) that is added to phone numbers without a country code.',
    }),
    identityProviders: Type.Array(
      Type.Object(
        { name: Type.String({ description: 'The `provider` of `GET /api/auth/{provider}`.' }) },
        { title: 'IdentityProvider' },
      ),
    ),
    approvalLimit: Nullable(
      Type.Number({
        description:
          'Reversals, corrections, unassignments, refunds, credit transfers, write-offs, cancellations and changes of plans above this amount need approval. Null: no action needs approval.',
      }),
    ),
    planChangeReasons: Type.Array(Type.String(), {
      description: 'The codes of reasons that a change of a plan can name.',
    }),
    registrationOpen: Type.Boolean({ description: 'Whether anyone can register without an invitation.' }),
    paymentRequests: Type.Boolean({ description: 'Whether the service can send payment requests.' }),
    cashCounts: Type.Boolean({ description: 'Whether staff count the cash that they hold.' }),
    statusQueries: Type.Boolean({ description: 'Whether the service can query the status of transactions.' }),
    version: Type.String({ description: 'The version of the service.' }),
  },
  {
    title: 'Settings',
    examples: [
      {
        companyName: 'Sunrise Pumps Ltd',
        currency: 'KES',
        currencyDecimals: 2,
        timeZone: 'Africa/Nairobi',
        today: '2026-11-02',
        phoneCountryCode: '+254',
        identityProviders: [{ name: 'google' }],
        approvalLimit: 10_000,
        planChangeReasons: ['illness', 'harvest'],
        registrationOpen: false,
        paymentRequests: false,
        cashCounts: false,
        statusQueries: false,
        version: '0.1.0',
      },
    ],
  },
);
