export const customer = {
  'customer.title': 'Customer',
  'customer.contact': 'Contact',
  'customer.externalId': 'External ID',
  'customer.since': 'Customer since',
  'customer.accounts': 'Accounts',
  'customer.accounts.none': 'This customer has no account yet.',
  'customer.kyc.none': 'No documents were submitted.',
  'customer.kyc.verify': 'Verify',
  'customer.kyc.reject': 'Reject',
  'customer.kyc.decided': 'Decision saved',
  'customer.kyc.by': '{actor}, {date}',
} as const;
