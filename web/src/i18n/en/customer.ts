import { phoneProblems } from './codes.ts';
import { history } from './history.ts';

export const customer = {
  ...phoneProblems,
  ...history,
  'customer.title': 'Customer',
  'customer.edit': 'Edit customer',
  'customer.contact': 'Contact',
  'customer.phoneProblem': 'Problem of the phone',
  'customer.since': 'Customer since',
  'customer.accounts.none': 'This customer has no account yet.',
  'customer.kyc.none': 'No documents were submitted.',
  'customer.kyc.verify': 'Verify',
  'customer.kyc.reject': 'Reject',
  'customer.kyc.decided': 'Decision saved',
  'customer.kyc.by': '{actor}, {date}',
  'customer.kyc.submit': 'Submit document',
  'customer.kyc.submit.text': 'A user with permission then verifies or rejects the document.',
  'customer.kyc.submitted': 'Document submitted',
  'customer.kyc.expiresAt': 'Expires on',
  'customer.kyc.expiresAt.hint':
    'From this day on, the document is no longer valid. Leave it empty if the document has no such day.',
  'customer.kyc.otherNumber': 'Another number',
  'customer.kyc.otherNumber.text':
    'The number of the document differs from the national ID of the customer. Correct the customer, or verify the customer nevertheless.',
  'customer.kyc.otherNumber.confirm': 'Verify nevertheless',
} as const;
