import { Type } from 'typebox';
import { Id, Money, Nullable, Timestamp } from '../core/fields.ts';
import { column, defineList } from '../core/list-query.ts';

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;

export const PayPlan = Type.Object({
  id: Id,
  name: Type.String(),
  productId: Nullable(Type.Integer({ description: 'The one product that the plan is for; null: any.' })),
  deposit: Money,
  instalmentAmount: Money,
  instalmentCount: Type.Integer(),
  frequency: Type.Enum([...FREQUENCIES]),
  graceDays: Type.Integer(),
  autoSuspend: Type.Boolean(),
  active: Type.Boolean(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const payPlanList = defineList(
  {
    id: { kind: 'id', column: column('p.id') },
    name: { kind: 'text', column: column('p.name') },
    productId: { kind: 'id', column: column('p.product_id') },
    frequency: { kind: 'enum', column: column('p.frequency'), values: FREQUENCIES, sqlType: 'frequency' },
    active: { kind: 'boolean', column: column('p.active') },
    createdAt: { kind: 'timestamp', column: column('p.created_at') },
    updatedAt: { kind: 'timestamp', column: column('p.updated_at') },
  },
  {},
);
