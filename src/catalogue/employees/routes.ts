import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { changeRoute, getRoute, listAndCreateRoutes } from '../../core/http/crud.ts';
import { externalIdRoutes } from '../../core/http/external-id-routes.ts';
import { changeEmployee, createEmployee, upsertEmployee } from './commands.ts';
import { Employee, EmployeeChanges, EmployeeUpsert, employeeList, NewEmployee } from './schema.ts';
import { findEmployee, listEmployees, lockEmployee } from './store.ts';

export function employeeRoutes(api: Api, context: Context): void {
  const { db } = context;
  const employee = { path: '/employees', noun: 'employee', answer: Employee };

  listAndCreateRoutes(api, context, {
    ...employee,
    read: { access: 'catalogue:read', query: employeeList.query },
    list: (query) => listEmployees(db, query),
    creation: { access: 'catalogue:write', body: NewEmployee },
    create: createEmployee,
  });

  const read = getRoute(api, {
    ...employee,
    resource: 'employee',
    access: 'catalogue:read',
    editable: EmployeeChanges,
    find: (id) => findEmployee(db, id),
  });

  changeRoute(api, context, {
    ...employee,
    access: 'catalogue:write',
    body: EmployeeChanges,
    lock: lockEmployee,
    change: changeEmployee,
  });

  externalIdRoutes(api, context, 'employee', {
    answer: Employee,
    example: 'HR-17',
    access: 'catalogue:read',
    editable: EmployeeChanges,
    read,
    upsert: {
      access: 'catalogue:write',
      body: EmployeeUpsert,
      lock: lockEmployee,
      run: upsertEmployee,
    },
  });
}
