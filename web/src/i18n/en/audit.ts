export const audit = {
  'audit.resource': 'What',
  'audit.resourceId': 'Its ID',
  'audit.actor': 'Who',
  'audit.action': 'Action',
  'audit.request': 'Request',
  'audit.changes': 'Changes',
  'audit.field': 'Field',
  'audit.before': 'Before',
  'audit.after': 'After',
} as const;
