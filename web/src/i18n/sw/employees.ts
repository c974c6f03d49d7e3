import type { employees as en } from '../en/employees.ts';
import { secrets } from './secrets.ts';

export const employees: Record<keyof typeof en, string> = {
  ...secrets,
  'employees.new': 'Mfanyakazi mpya',
  'employees.active': 'Anafanya kazi hapa',
};
