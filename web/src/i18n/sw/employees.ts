import type { employees as en } from '../en/employees.ts';

export const employees: Record<keyof typeof en, string> = {
  'employees.new': 'Mfanyakazi mpya',
  'employees.active': 'Anafanya kazi hapa',
};
