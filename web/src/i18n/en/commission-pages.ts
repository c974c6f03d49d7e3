export { commissionRules } from './commission-rules.ts';
export { commissions } from './commissions.ts';
