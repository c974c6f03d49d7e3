import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { SelectField } from '../../ui/form.tsx';
import { useEmployees } from './catalogue.ts';

export const ROLES = ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'] as const;

/** Each option shows a role and the permissions of this role. */
export function RoleField({ role }: { role?: Schemas['Role'] }) {
  return (
    <SelectField label={t('field.role')} name="role" defaultValue={role ?? ''} required>
      <option value="" disabled hidden />
      {ROLES.map((one) => (
        <option key={one} value={one}>
          {`${tValue('role', one)}: ${tValue('roleHint', one)}`}
        </option>
      ))}
    </SelectField>
  );
}

/** The employee whose commissions the user may see. */
export function EmployeeField({ employeeId }: { employeeId?: number | null }) {
  const employees = useEmployees();
  return (
    // The key creates the field again when the employees are loaded. Until then the chosen employee is not an option.
    <SelectField
      key={employees.length}
      label={t('field.employee')}
      name="employeeId"
      hint={t('users.employee.hint')}
      defaultValue={employeeId ?? ''}
    >
      <option value="">{t('users.noEmployee')}</option>
      {employees.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
