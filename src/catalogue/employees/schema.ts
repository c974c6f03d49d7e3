import { type Static, Type } from 'typebox';
import { answerOf, bodyOf, type DeclaredFields, listFieldsOf } from '../../core/declared-fields.ts';
import { ChangedExternalFields, ExternalFields, ShownExternalFields } from '../../core/http/external-ids.ts';
import { Id, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';

const phone = (format: string) => Nullable(Type.String({ maxLength: 30, format }));

const nameFields = {
  name: { schema: Text(200), trimmed: true, list: true, file: 'The full name.', example: 'Achieng Otieno' },
} satisfies DeclaredFields;

const otherFields = {
  active: {
    schema: Type.Boolean(),
    default: true,
    list: true,
    file: 'Whether the employee can get new accounts. Empty: yes.',
    example: true,
  },
} satisfies DeclaredFields;

export const employeeFields = { ...nameFields, ...otherFields };

const fields = {
  ...bodyOf(nameFields),
  /** Also accepts a number that is stored since an earlier version, and that is not changed. */
  phone: phone('changed-phone'),
  ...bodyOf(otherFields),
  ...ChangedExternalFields,
};

export const NewEmployee = Type.Object(
  {
    ...bodyOf(nameFields),
    phone: Type.Optional(phone('phone')),
    ...bodyOf(otherFields),
    ...ExternalFields,
  },
  {
    title: 'NewEmployee',
    examples: [
      {
        name: 'Field agent East',
        phone: '+254733000111',
        active: true,
        externalId: 'HR-17',
        metadata: { team: 'east' },
      },
    ],
  },
);
export type NewEmployee = Static<typeof NewEmployee>;

export const EmployeeChanges = Type.Partial(Type.Object(fields), {
  minProperties: 1,
  title: 'EmployeeChanges',
  examples: [{ phone: '0733 000 222' }],
});
export type EmployeeChanges = Static<typeof EmployeeChanges>;

const { externalId: _inPath, ...upsertFields } = NewEmployee.properties;
export const EmployeeUpsert = Type.Object(
  { ...upsertFields, phone: Type.Optional(fields.phone) },
  {
    title: 'EmployeeUpsert',
    examples: [{ name: 'Field agent East', phone: '+254733000111', metadata: { team: 'coast' } }],
  },
);
export type EmployeeUpsert = Static<typeof EmployeeUpsert>;

/** A person who earns commission. An employee can also be a user, but this is not necessary. */
export const Employee = Type.Object(
  {
    id: Id,
    ...answerOf(nameFields),
    phone: Nullable(Type.String()),
    ...answerOf(otherFields),
    ...ShownExternalFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Employee',
    examples: [
      {
        id: 1,
        name: 'Field agent North',
        phone: '+254733000222',
        active: true,
        externalId: 'HR-12',
        metadata: { team: 'north' },
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);
export type Employee = Static<typeof Employee>;

export const employeeList = defineList(
  {
    id: { kind: 'id', column: 'e.id' },
    ...listFieldsOf(nameFields, 'e'),
    phone: { kind: 'text', column: 'e.phone', nullable: true },
    ...listFieldsOf(otherFields, 'e'),
    externalId: { kind: 'text', column: 'e.external_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'e.created_at' },
    updatedAt: { kind: 'timestamp', column: 'e.updated_at' },
  },
  {},
  'e.metadata',
);
