import { describe, expect, it } from 'vitest';
import { paymentInstructions } from './payment-instructions-rules.ts';

const account = { companyName: 'Sunrise Pumps Ltd', accountNumber: 'ACC10000012' };

describe('paymentInstructions', () => {
  it('names the paybill number and the account number in the language of the customer', () => {
    expect(paymentInstructions({ ...account, paybillNumber: '600638' }, 'en').split('\n')).toEqual([
      'Sunrise Pumps Ltd',
      'Account number: ACC10000012',
      'Paybill number: 600638',
      'In the mobile-money menu of your phone choose Pay bill, then enter these numbers exactly as they stand here.',
    ]);
    expect(paymentInstructions({ ...account, paybillNumber: '600638' }, 'sw').split('\n')).toEqual([
      'Sunrise Pumps Ltd',
      'Namba ya akaunti: ACC10000012',
      'Namba ya paybill: 600638',
      'Kwenye menyu ya pesa ya simu yako chagua Lipa bili (Pay bill), kisha weka namba hizi kama zilivyo hapa.',
    ]);
  });

  it('asks for the account number as the reference if the company has no paybill number', () => {
    expect(paymentInstructions({ ...account, paybillNumber: null }, 'en').split('\n')).toEqual([
      'Sunrise Pumps Ltd',
      'Account number: ACC10000012',
      'Give this account number as the reference with every payment.',
    ]);
  });
});
