/** Secrets that are shown once. */
export const secrets = {
  'secret.once': 'Copy the secret now. It is not shown again.',
  'secret.done': 'I have stored it',
  'secret.overlap': 'The previous secret works for',
  'secret.overlap.hint': 'Time to store the new one everywhere.',
  'secret.overlap.none': 'No longer',
  'secret.overlap.hour': 'One hour',
  'secret.overlap.day': 'One day',
  'secret.overlap.week': 'Seven days',
} as const;
