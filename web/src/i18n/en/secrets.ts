/** Secrets that are shown once. The message files of the pages that create secrets include this group. */
export const secrets = {
  'secret.once': 'Copy it now. It is not shown again.',
  'secret.done': 'I have stored it',
  'secret.overlap': 'The previous secret',
  'secret.overlap.hint': 'Choose the time that you need to store the new secret everywhere.',
  'secret.overlap.none': 'stops at once',
  'secret.overlap.hour': 'works for one hour',
  'secret.overlap.day': 'works for one day',
  'secret.overlap.week': 'works for seven days',
} as const;
