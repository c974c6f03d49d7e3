export { employees } from './employees.ts';
export { payPlans } from './pay-plans.ts';
export { paymentMethods } from './payment-methods.ts';
export { products } from './products.ts';
