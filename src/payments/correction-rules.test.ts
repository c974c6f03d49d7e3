import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../core/values/dates.ts';
import { type CorrectionFacts, correctionRefusal, stateRefusal } from './correction-rules.ts';
import type { PaymentRow } from './rules.ts';

const KES = { code: 'KES', decimals: 2 };
const NOTHING_ELSE: CorrectionFacts = { conflictId: null, reportedAlike: undefined, statementId: null };

/** A manual payment of 1,000.00 on account 7, which nobody has confirmed. */
const PAYMENT: PaymentRow = {
  id: 31,
  account_id: 7,
  amount_minor: 100_000,
  api_key_id: null,
  corrects_payment_id: null,
  created_at: '2026-11-02T08:00:00.000Z',
  created_by: 5,
  external_id: null,
  import_id: null,
  match_method: null,
  match_reason: null,
  metadata: {},
  payment_date: '2026-11-02' as PlainDate,
  payment_method_id: 1,
  provider: null,
  provider_trans_id: null,
  reconciliation_date: null,
  reconciliation_id: null,
  reference_key: null,
  reversal_reason: null,
  reversed_at: null,
  source: 'manual',
  status: 'matched',
  transaction_ref: null,
  updated_at: '2026-11-02T08:00:00.000Z',
};

function refusalOf(
  payment: Partial<PaymentRow>,
  { amountMinor = 90_000n, ...facts }: Partial<CorrectionFacts> & { amountMinor?: bigint } = {},
) {
  return correctionRefusal({ ...PAYMENT, ...payment }, amountMinor, { ...NOTHING_ELSE, ...facts }, KES);
}

const refused = (path: string, reason: string) => ({
  code: 'VALIDATION_ERROR',
  details: { fields: [{ path, message: expect.stringContaining(reason) }] },
});

describe('the amount of a manual payment', () => {
  it('can be corrected to another amount, larger or smaller', () => {
    expect(refusalOf({})).toBeUndefined();
    expect(refusalOf({}, { amountMinor: 100_001n })).toBeUndefined();
  });

  it('cannot be corrected to the present amount', () => {
    expect(refusalOf({}, { amountMinor: 100_000n })).toMatchObject(refused('amount', '1000'));
  });

  it('cannot become that of a payment that a provider reported alike', () => {
    expect(refusalOf({}, { reportedAlike: 44 })).toMatchObject(refused('amount', 'payment 44'));
  });
});

describe('no amount can be corrected', () => {
  it('of a reversed payment, which cannot change any more', () => {
    expect(refusalOf({ status: 'reversed' })).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from: 'reversed', to: 'reversed', allowed: [] },
    });
  });

  it.each<[string, Partial<PaymentRow>, Partial<CorrectionFacts>, string]>([
    ['of an imported payment', { source: 'import' }, {}, 'it comes from an import'],
    ['of a payment that a provider reported', { source: 'webhook' }, {}, 'a provider reported it'],
    ['of a payment that is linked to a report', { provider: 'mobilemoney' }, {}, 'linked to this report'],
    ['of a payment without an account', { status: 'unmatched' }, {}, 'it has no account'],
    ['of a reconciled payment', { reconciliation_id: 3 }, {}, 'it is reconciled'],
    ['of a payment in conflict with a notification', {}, { conflictId: 12 }, 'notification 12'],
    ['of a payment in a statement of the provider', {}, { statementId: 4 }, 'statement 4'],
  ])('%s', (_, payment, facts, reason) => {
    expect(refusalOf(payment, facts)).toMatchObject(refused('id', reason));
    // The answer of a payment says so before somebody enters an amount.
    expect(stateRefusal({ ...PAYMENT, ...payment }, { ...NOTHING_ELSE, ...facts })).toMatchObject(
      refused('id', reason),
    );
  });
});
