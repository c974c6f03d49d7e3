export { apiKeys } from './api-keys.ts';
export { users } from './users.ts';
export { webhooks } from './webhooks.ts';
