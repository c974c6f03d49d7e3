export const find = {
  'find.title': 'Find',
  'find.placeholder': 'Name, phone, account, reference or invoice',
  'find.hint': 'Press / anywhere to search.',
  'find.results.one': '{count} result',
  'find.results.other': '{count} results',
  'find.none': 'Nothing found. Try part of a name, a phone number, or an account number.',
  'find.short': 'Type at least two characters.',
} as const;
