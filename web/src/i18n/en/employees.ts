import { secrets } from './secrets.ts';

export const employees = {
  ...secrets,
  'employees.new': 'New employee',
  'employees.active': 'Works here',
} as const;
