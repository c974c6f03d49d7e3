export const employees = {
  'employees.new': 'New employee',
  'employees.active': 'Works here',
} as const;
