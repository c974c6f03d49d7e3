import { ACCOUNT_STATUSES, needsReason } from '../accounts/status/rules.ts';
import { employeeFields } from '../catalogue/employees/schema.ts';
import { MAX_PAYOFF_BASIS_POINTS } from '../catalogue/pay-plans/rules.ts';
import { FREQUENCIES, MAX_INSTALMENTS } from '../catalogue/pay-plans/schema.ts';
import { productFields } from '../catalogue/products/schema.ts';
import { columnOf, type DeclaredField, type DeclaredFields, isRequired } from '../core/declared-fields.ts';
import { customerFields } from '../customers/schema.ts';
import { PROVIDER_NAMES } from '../payments/provider-name-rules.ts';

// The files of a portfolio. The import, the export, the templates and docs/portfolio-import.md use the table `FORMAT`. No file is
// required. An import assigns ids in the order of the file, because payments of one day are applied in the order of their ids.

/** What a cell of a column contains. A cell can also be empty if its column is not required. */
export type Kind =
  /** One line of readable text. Spaces at its ends are kept. */
  | { kind: 'text'; maxLength: number }
  /** Like a text. Spaces at its ends are removed, except in an exported file. */
  | { kind: 'name'; maxLength: number }
  /** Text that can have several lines. */
  | { kind: 'paragraph'; maxLength: number }
  /** The id in another system: readable text without invisible characters. Spaces around it are removed. */
  | { kind: 'external_id' }
  /** Lower-case letters, digits and underscores, with a letter first. */
  | { kind: 'code'; maxLength: number }
  /** Text of at most 50 characters with a letter or a digit. */
  | { kind: 'national_id' }
  /** The key of a row in another file or in the database. The key of an account must be in accounts.csv. */
  | { kind: 'reference'; file: FileName }
  /** In units of the currency, with a point before the decimals. */
  | { kind: 'amount'; allowsZero: boolean }
  | { kind: 'count'; min: number; max: number }
  /** YYYY-MM-DD. */
  | { kind: 'date' }
  /** ISO 8601 with a time zone. A date alone is the start of that business day. */
  | { kind: 'timestamp' }
  | { kind: 'phone' }
  | { kind: 'email' }
  /** An account number of this service. */
  | { kind: 'account_number' }
  /** yes or no. */
  | { kind: 'flag' }
  | { kind: 'choice'; values: readonly string[] }
  /** A JSON object whose values are texts. */
  | { kind: 'metadata' }
  /** A JSON array of earlier assignments of a payment. */
  | { kind: 'assignments' }
  /** A JSON array of runs of instalments. */
  | { kind: 'runs' }
  /** Numbers of months, with spaces between them. */
  | { kind: 'months' }
  /** The instalments of a year: month and day, and the share in basis points. */
  | { kind: 'harvest' };

export type Column = Kind & {
  name: string;
  required: boolean;
  /** Whether the value must be unique in the file and the database. Exception: a payment method can be in the database. */
  unique: boolean;
  meaning: string;
  /** The cell in the example row of the template. Empty for columns that the example does not need. */
  example: string;
};

export interface FileFormat {
  /** The column by which other files refer to a row. Null if no other file refers to these rows. */
  key: string | null;
  /** What a row is. */
  meaning: string;
  columns: readonly Column[];
}

/** In the order of the import. Each file refers only to files before it. */
export const FILE_NAMES = [
  'payment_methods',
  'employees',
  'products',
  'pay_plans',
  'customers',
  'accounts',
  'account_changes',
  'payments',
  'credit_moves',
] as const;
export type FileName = (typeof FILE_NAMES)[number];

/**
 * The last column of an exported file, with empty cells. Its name has the version of the format. A file without it has version 1, in
 * which a person writes files and earlier versions of the service wrote exports.
 */
export const VERSION_COLUMN = 'format_2';

const externalId: Kind = { kind: 'external_id' };
const fromZero: Kind = { kind: 'amount', allowsZero: true };
const aboveZero: Kind = { kind: 'amount', allowsZero: false };
const date: Kind = { kind: 'date' };
const timestamp: Kind = { kind: 'timestamp' };
const phone: Kind = { kind: 'phone' };
const flag: Kind = { kind: 'flag' };
const status: Kind = { kind: 'choice', values: ACCOUNT_STATUSES };
const frequency: Kind = { kind: 'choice', values: FREQUENCIES };
const instalmentCount: Kind = { kind: 'count', min: 1, max: 10_000 };
const graceDays: Kind = { kind: 'count', min: 0, max: 365 };

function text(maxLength: number): Kind {
  return { kind: 'text', maxLength };
}

function name(maxLength: number): Kind {
  return { kind: 'name', maxLength };
}

function reference(file: FileName): Kind {
  return { kind: 'reference', file };
}

function required(name: string, kind: Kind, meaning: string, example: string): Column {
  return { ...kind, name, required: true, unique: false, meaning, example };
}

function optional(name: string, kind: Kind, meaning: string, example = ''): Column {
  return { ...kind, name, required: false, unique: false, meaning, example };
}

function unique(column: Column): Column {
  return { ...column, unique: true };
}

const metadata = optional('metadata', { kind: 'metadata' }, 'Your own texts, such as {"region": "north"}.');

function createdAt(what: string): Column {
  return optional('created_at', timestamp, `When the ${what} was registered. Empty: when the import runs.`);
}

function active(meaning: string): Column {
  return optional('active', flag, `${meaning} Empty: yes.`, 'yes');
}

/** The columns of declared fields, by field. */
function declared<Fields extends DeclaredFields>(fields: Fields): Record<keyof Fields, Column> {
  const stored = Object.entries(fields as DeclaredFields).filter(([, field]) => field.file);
  const columns = stored.map(([name, field]): [string, Column] => {
    const { file: meaning = '', unique = false, example } = field;
    const shown = example === true ? 'yes' : String(example);
    const required = isRequired(field);
    return [name, { ...kindOf(field), name: columnOf(name), required, unique, meaning, example: shown }];
  });
  return Object.fromEntries(columns) as Record<keyof Fields, Column>;
}

function kindOf({ schema, trimmed }: DeclaredField): Kind {
  const { type, enum: values, format, maxLength } = schema as DeclaredField['schema'] & JsonSchema;
  if (values) return { kind: 'choice', values };
  if (type === 'boolean') return flag;
  if (format === 'paragraph') return { kind: 'paragraph', maxLength };
  return trimmed ? name(maxLength) : text(maxLength);
}

interface JsonSchema {
  type: string;
  enum?: string[];
  format?: string;
  maxLength: number;
}

const { active: employeeActive, ...employee } = declared(employeeFields);
const { active: productActive, ...product } = declared(productFields);
const { firstName, lastName, ...customer } = declared(customerFields);

export const FORMAT: Readonly<Record<FileName, FileFormat>> = {
  payment_methods: {
    key: 'code',
    meaning: 'A way to pay. If the database already has a method with this code, that method is not changed.',
    columns: [
      unique(
        required(
          'code',
          { kind: 'code', maxLength: 50 },
          'The code by which payments refer to the method.',
          'cheque',
        ),
      ),
      required('name', name(100), 'The name on statements.', 'Cheque'),
      active('Whether new payments can use the method.'),
      optional(
        'cash',
        flag,
        'Whether staff take the money in their hands. Empty: only for the code `cash`.',
        'no',
      ),
    ],
  },
  employees: {
    key: 'external_id',
    meaning: 'A person who sells and earns commission.',
    columns: [
      unique(required('external_id', externalId, 'Your id of the employee.', 'HR-17')),
      ...Object.values(employee),
      optional('phone', phone, 'The phone number.', '+254733000111'),
      employeeActive,
      createdAt('employee'),
      metadata,
    ],
  },
  products: {
    key: 'sku',
    meaning: 'A product that customers buy.',
    columns: [
      ...Object.values(product),
      required('price', fromZero, 'The cash price.', '34000.00'),
      productActive,
      unique(optional('external_id', externalId, 'The id of the product in another system.', 'ERP-880')),
      createdAt('product'),
      metadata,
    ],
  },
  pay_plans: {
    key: 'name',
    meaning: 'The terms on which products are sold.',
    columns: [
      unique(required('name', name(200), 'The name of the pay plan.', 'Weekly, one year')),
      optional(
        'product',
        reference('products'),
        'The only product of the plan, by sku. Empty: all products.',
      ),
      required('deposit', fromZero, 'The amount due on the activation date.', '2000.00'),
      required('instalment', aboveZero, 'The amount of each instalment.', '700.00'),
      required('instalment_count', instalmentCount, 'The number of instalments.', '52'),
      optional(
        'price',
        aboveZero,
        'For a plan whose last instalment takes the rest of a price: the price, including the deposit. There can then be fewer instalments than instalment_count. Empty: all instalments are equal.',
      ),
      optional(
        'rounding_unit',
        aboveZero,
        'The amount of which the instalments of a price are multiples. Needed with price.',
      ),
      required('frequency', frequency, 'The time between two instalments.', 'weekly'),
      optional(
        'every',
        { kind: 'count', min: 1, max: 365 },
        'The number of days, weeks or months from one instalment to the next. Empty: 1.',
      ),
      optional(
        'months_without_dues',
        { kind: 'months' },
        'The months in which no instalment is due, as numbers with spaces between them, such as 5 6. Empty: none.',
      ),
      optional(
        'harvest',
        { kind: 'harvest' },
        'For a plan with a price whose instalments are due on certain days of each year: the days (month and day), each with its share in basis points, such as 03-15 6000; 09-30 4000. Then frequency is monthly and every is 12, and instalment is any amount with which instalment_count instalments pay the price.',
      ),
      optional(
        'harvest_cycles',
        { kind: 'count', min: 1, max: 20 },
        'The number of years with instalments. Needed with harvest.',
      ),
      optional(
        'lead_days',
        { kind: 'count', min: 0, max: 365 },
        'The first instalment is on the first of these days that is at least this number of days after the activation. Needed with harvest.',
      ),
      required(
        'grace_days',
        graceDays,
        'An account counts as late when it is more than this number of days past due.',
        '7',
      ),
      optional(
        'payoff_basis_points',
        { kind: 'count', min: 1, max: MAX_PAYOFF_BASIS_POINTS },
        'For a plan that offers a discount to a customer who pays all that is left on one day: the part of the unpaid instalments after this day, in basis points. Empty: no discount.',
      ),
      optional('payoff_until', date, 'The last day of this offer. Empty: it has no end.'),
      optional(
        'payoff_min_dues',
        { kind: 'count', min: 1, max: MAX_INSTALMENTS },
        'The number of unpaid instalments after the day of the payoff that an account needs, such as 2. Needed with payoff_basis_points.',
      ),
      optional('auto_suspend', flag, 'Whether late accounts are suspended automatically. Empty: no.', 'no'),
      active('Whether new accounts can have the plan.'),
      createdAt('plan'),
    ],
  },
  customers: {
    key: 'external_id',
    meaning: 'A person or company that buys.',
    columns: [
      unique(required('external_id', externalId, 'Your id of the customer.', 'CRM-1001')),
      firstName,
      lastName,
      required('phone', phone, 'The phone number from which the customer pays.', '+254712345678'),
      unique(
        optional(
          'email',
          { kind: 'email' },
          'The e-mail address. Two customers cannot have the same one.',
          'wanjiru@example.com',
        ),
      ),
      unique(
        optional(
          'national_id',
          { kind: 'national_id' },
          'The number of the identity card. Two customers cannot have the same one.',
          '23456789',
        ),
      ),
      optional('second_phone', phone, 'Another phone number to call the customer.', '+254733111222'),
      ...Object.values(customer),
      createdAt('customer'),
      metadata,
    ],
  },
  accounts: {
    key: 'external_id',
    meaning: 'A customer buys a product on a pay plan.',
    columns: [
      unique(required('external_id', externalId, 'Your id of the account.', 'LOAN-2001')),
      unique(
        optional(
          'account_number',
          { kind: 'account_number' },
          'For an account from an export of this service: its number. Empty: the account gets a new number.',
        ),
      ),
      required('customer', reference('customers'), 'The customer, by external_id.', 'CRM-1001'),
      required('product', reference('products'), 'The product, by sku.', 'SHS-80'),
      required('pay_plan', reference('pay_plans'), 'The pay plan, by name.', 'Weekly, one year'),
      optional(
        'employee',
        reference('employees'),
        'The employee who sold the account, by external_id.',
        'HR-17',
      ),
      required('opened_at', timestamp, 'When the account was opened.', '2026-01-05'),
      optional(
        'activation_date',
        date,
        'The day of the deposit. The due dates of the instalments are counted from this day. Empty: the day of opened_at.',
        '2026-01-05',
      ),
      optional('deposit', fromZero, 'The deposit of this account. Empty: that of the pay plan.'),
      optional(
        'instalment',
        aboveZero,
        'The instalment of this account. Empty: the first of schedule, or else that of the pay plan.',
      ),
      optional(
        'instalment_count',
        { kind: 'count', min: 0, max: 10_000 },
        'The number of instalments of this account. Empty: that of schedule, or else that of the pay plan.',
      ),
      optional(
        'frequency',
        frequency,
        'The time between two instalments of this account. Empty: that of the pay plan.',
      ),
      optional(
        'schedule',
        { kind: 'runs' },
        'For instalments that are not equal, or not one frequency apart: runs of equal instalments in the order of their dates, as a JSON array of objects with anchor (a date), unit (day or month), every, place, count and amount. Instalment j, from 0, of a run is due (place + j) × every units after the anchor. Then instalment is the first amount, and instalment_count the number of all instalments. Empty: the instalments of the pay plan if the columns from deposit to frequency are empty or repeat some of its terms; equal instalments if they have all four terms, or another one.',
      ),
      optional('grace_days', graceDays, 'The days of grace of this account. Empty: those of the pay plan.'),
      optional(
        'plan_changed_on',
        date,
        'For an account whose terms were changed since its sale: the first day with the present terms. The earlier terms are not imported, so the account may have given more credit than it had by its present price.',
      ),
      optional(
        'restructured',
        { kind: 'choice', values: ['deferral', 'revision'] },
        'How the instalments were last put off, if that was not undone.',
      ),
      optional('restructured_on', date, 'The first day after this change. Needed with restructured.'),
      optional(
        'status',
        status,
        'The status today. Empty: the import derives it from the activation date, the payments and account_changes.',
        'suspended',
      ),
      optional(
        'status_since',
        date,
        'The day of the last change of status, for an account without rows in account_changes.',
      ),
      optional('status_reason', text(500), 'The reason for the last change of status.'),
      optional(
        'grace_restarted_on',
        date,
        'The day on which staff made a late account active again. Its days of grace count from this day.',
      ),
      optional(
        'opening_paid',
        aboveZero,
        'The sum paid before the import, for an account without rows in payments.',
      ),
      optional('opening_paid_on', date, 'The business day of opening_paid. Needed with opening_paid.'),
      optional(
        'source_as_of',
        date,
        'The day to which the figures in the source_ columns refer. Empty: today.',
        '2026-03-31',
      ),
      optional(
        'source_payment_count',
        { kind: 'count', min: 0, max: 1_000_000 },
        'The number of payments on the account, without reversed ones.',
        '1',
      ),
      optional('source_paid', fromZero, 'The sum paid.', '2700.00'),
      optional('source_balance', fromZero, 'The unpaid part of the whole price.', '35700.00'),
      optional('source_arrears', fromZero, 'The sum that is due and not paid.', '7700.00'),
      optional('source_paid_until', date, 'The last day that the payments cover.', '2026-01-18'),
      metadata,
    ],
  },
  account_changes: {
    key: null,
    meaning:
      'A change of status after the opening of an account. Write the changes of an account in the order in which they happened: changes at the same time are applied in the order of the file.',
    columns: [
      required('account', reference('accounts'), 'The account, by external_id.', 'LOAN-2001'),
      required('status', status, 'The new status.', 'suspended'),
      required('changed_on', date, 'The first day with the new status.', '2026-02-02'),
      optional(
        'reason',
        text(500),
        `Why the status changed. Needed for ${new Intl.ListFormat('en-GB').format(ACCOUNT_STATUSES.filter(needsReason))}.`,
        'No payment for two weeks',
      ),
      optional(
        'cause',
        { kind: 'choice', values: ['non_payment', 'payment'] },
        '"non_payment" for an automatic suspension of a late account, "payment" if a payment ended such a suspension. Otherwise empty.',
      ),
      optional('changed_at', timestamp, 'When the change was made. Empty: 00:00 on changed_on.'),
    ],
  },
  payments: {
    key: null,
    meaning: 'Money that arrived.',
    columns: [
      unique(optional('external_id', externalId, 'Your id of the payment.', 'PAY-3001')),
      optional(
        'account',
        reference('accounts'),
        'The account, by external_id. Empty: the account is not known yet.',
        'LOAN-2001',
      ),
      required('amount', aboveZero, 'The amount.', '2700.00'),
      required('payment_date', date, 'The business day of the payment.', '2026-01-05'),
      required('payment_method', reference('payment_methods'), 'The method, by code.', 'mobile_money'),
      optional(
        'transaction_ref',
        text(100),
        'The reference of the payment. Two unreversed payments of one method cannot have the same reference.',
        'SAA1B2C3D4',
      ),
      optional(
        'provider',
        { kind: 'choice', values: PROVIDER_NAMES },
        'The provider that reported the payment, if this provider also reports to this service. Otherwise empty.',
        'mobilemoney',
      ),
      unique(
        optional(
          'provider_transaction_id',
          text(100),
          'The id of the transaction at the provider. transaction_ref must have the same value. Two payments of one provider cannot have the same id. Needed with provider.',
          'SAA1B2C3D4',
        ),
      ),
      optional('received_at', timestamp, 'When the payment was recorded. Empty: 00:00 on payment_date.'),
      optional(
        'assigned_at',
        timestamp,
        'When the payment was moved to its account, if it arrived without an account or on another one.',
      ),
      optional(
        'earlier_assignments',
        { kind: 'assignments' },
        'The earlier accounts of the payment in the order of time, as a JSON array of objects with account (its external_id), assigned_at and unassigned_at. If the first assigned_at is null, the payment was on this account from the time when it was recorded.',
      ),
      optional('reversed_at', timestamp, 'When the payment was reversed. Empty: it was not reversed.'),
      optional('reversal_reason', text(500), 'Why the payment was reversed. Needed with reversed_at.'),
      optional(
        'reconciled_on',
        date,
        'The date of the reconciliation of the payment. Empty: not reconciled.',
      ),
      metadata,
    ],
  },
  // No example, because the account of the other examples has no credit.
  credit_moves: {
    key: null,
    meaning: 'Credit that left an account, to another account or back to the customer.',
    columns: [
      required('account', reference('accounts'), 'The account that gave the credit, by external_id.', ''),
      optional(
        'to_account',
        reference('accounts'),
        'The account that received the credit, by external_id. Empty: the credit was refunded.',
      ),
      required('amount', aboveZero, 'The amount.', ''),
      required('reason', text(500), 'Why the credit was moved.', ''),
      required('moved_on', date, 'The business day of the move.', ''),
      optional(
        'payment_method',
        reference('payment_methods'),
        'The method of the refund, by code. Needed for a refund.',
      ),
      optional('transaction_ref', text(100), 'The reference of the refund.'),
      optional('moved_at', timestamp, 'When the move was recorded. Empty: 00:00 on moved_on.'),
    ],
  },
};
