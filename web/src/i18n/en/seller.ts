import { commissionStatuses } from './codes.ts';

/** The day of a seller, which the page Today shows instead of that of the office. */
export const seller = {
  ...commissionStatuses,
  'seller.late': 'My late customers',
  'seller.late.all': 'All my late customers',
  'seller.late.none': 'None of your customers is late.',
  'seller.commission': 'My commission',
  'seller.commission.all': 'All my commissions',
  'seller.commission.none': 'Not calculated yet',
  'seller.commission.more.one': '{count} sale without commission.',
  'seller.commission.more.other': '{count} sales without commission.',
  'seller.commission.expected': 'Expected: {amount}',
  'seller.unlinked': 'Your user is not linked to an employee',
  'seller.unlinked.text':
    'An administrator links it on the page Users. Your late customers and your commission then appear here.',
} as const;
