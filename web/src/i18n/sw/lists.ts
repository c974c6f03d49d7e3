export { accounts } from './accounts.ts';
export { customers } from './customers.ts';
export { invoices } from './invoices.ts';
export { payments } from './payments.ts';
