import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { externalIdRoutes } from '../../core/http/external-id-routes.ts';
import { IdParams } from '../../core/http/fields.ts';
import { repeatable } from '../../core/http/idempotency.ts';
import { changeEmployee, createEmployee, upsertEmployee } from './commands.ts';
import { Employee, EmployeeChanges, EmployeeUpsert, employeeList, NewEmployee } from './schema.ts';
import { findEmployee, listEmployees, lockEmployee } from './store.ts';

export function employeeRoutes(api: Api, context: Context): void {
  const tags = ['Employees'];

  async function read(id: number) {
    const employee = await findEmployee(context.db, id);
    if (!employee) throw notFound('employee', id);
    return ok(employee, 'Employee found.');
  }

  api.get(
    '/employees',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags,
        operationId: 'listEmployees',
        summary: 'List employees',
        querystring: employeeList.query,
        response: { 200: ListEnvelope(Employee, 'Employees found.') },
      },
    },
    async (request) => okList(await listEmployees(context.db, request.query), 'Employees found.'),
  );

  api.post(
    '/employees',
    {
      config: { access: 'catalogue:write', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'createEmployee',
        summary: 'Add an employee',
        body: NewEmployee,
        response: { 201: Envelope(Employee, 'Employee created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const employee = await createEmployee(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(employee, 'Employee created.');
      }),
  );

  api.get(
    '/employees/:id',
    {
      config: { access: 'catalogue:read', errors: ['NOT_FOUND'], editable: EmployeeChanges },
      schema: {
        tags,
        operationId: 'getEmployee',
        summary: 'Get an employee',
        params: IdParams,
        response: { 200: Envelope(Employee, 'Employee found.') },
      },
    },
    async (request) => read(request.params.id),
  );

  api.put(
    '/employees/:id',
    {
      config: {
        access: 'catalogue:write',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: EmployeeChanges,
      },
      schema: {
        tags,
        operationId: 'updateEmployee',
        summary: 'Change an employee',
        params: IdParams,
        body: EmployeeChanges,
        response: { 200: Envelope(Employee, 'Employee changed.') },
      },
    },
    async (request) =>
      ok(
        await ifUnchanged(context, request, lockEmployee, (txContext) =>
          changeEmployee(txContext, actorOf(request), request.params.id, request.body),
        ),
        'Employee changed.',
      ),
  );

  externalIdRoutes(api, context, 'employee', {
    answer: Employee,
    example: 'HR-17',
    access: 'catalogue:read',
    editable: EmployeeChanges,
    read: (id) => read(id),
    upsert: {
      access: 'catalogue:write',
      body: EmployeeUpsert,
      lock: lockEmployee,
      run: upsertEmployee,
    },
  });
}
