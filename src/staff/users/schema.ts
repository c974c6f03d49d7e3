import { type Static, Type } from 'typebox';
import { Choice, Email, Id, NewPassword, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { emailKey } from '../../core/values/email.ts';
import { USER_ROLES } from '../../rights.ts';

const Role = Choice('Role', USER_ROLES);
const EmployeeId = Nullable(Id);
const names = { firstName: Text(100), lastName: Text(100) };

export const NewUserBody = Type.Object(
  {
    email: Email,
    password: NewPassword,
    ...names,
    role: Role,
    employeeId: Type.Optional(EmployeeId),
  },
  {
    title: 'NewUser',
    examples: [
      {
        email: 'daudi@example.com',
        password: 'a long enough password',
        firstName: 'Daudi',
        lastName: 'Mwangi',
        role: 'agent',
        employeeId: 1,
      },
    ],
  },
);
export type NewUserBody = Static<typeof NewUserBody>;

export const UserChanges = Type.Object(
  {
    ...Type.Partial(Type.Object({ ...names, role: Role, active: Type.Boolean(), password: NewPassword }))
      .properties,
    employeeId: Type.Optional(EmployeeId),
  },
  { minProperties: 1, title: 'UserChanges', examples: [{ employeeId: 2 }] },
);
export type UserChanges = Static<typeof UserChanges>;

export const User = Type.Object(
  {
    id: Id,
    email: Type.String(),
    firstName: Type.String(),
    lastName: Type.String({ description: 'Empty when an identity provider sent none.' }),
    role: Role,
    active: Type.Boolean(),
    employeeId: Nullable(Type.Integer()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'User',
    examples: [
      {
        id: 1,
        email: 'amina@example.com',
        firstName: 'Amina',
        lastName: 'Otieno',
        role: 'admin',
        active: true,
        employeeId: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const userList = defineList(
  {
    id: { kind: 'id', column: 'u.id' },
    email: { kind: 'text', column: 'u.email', key: { column: 'u.email_key', of: emailKey } },
    firstName: { kind: 'text', column: 'u.first_name' },
    lastName: { kind: 'text', column: 'u.last_name' },
    role: { kind: 'enum', column: 'u.role', values: USER_ROLES },
    active: { kind: 'boolean', column: 'u.active' },
    employeeId: { kind: 'id', column: 'u.employee_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'u.created_at' },
    updatedAt: { kind: 'timestamp', column: 'u.updated_at' },
  },
  {},
);
