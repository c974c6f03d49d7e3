import { FIRST_OPEN_ACCOUNT, SEARCHED_NAME } from './load.mjs';

/**
 * The workloads of the benchmarks. `{account}`, `{customer}`, `{accountNumber}` and `{reference}` are variables, which have a new
 * value in each call.
 *
 * @returns the workloads. `ranges` has the lowest and the highest id of an account or a customer. `bare` is the same request to
 *   bare.mjs, only for reads. For each variable, `bare.variables` has the name of its parameter in the path or query.
 */
export function workloads({ accounts, customers }) {
  const account = [FIRST_OPEN_ACCOUNT, accounts];
  const one = FIRST_OPEN_ACCOUNT + 1;
  const payment = {
    method: 'POST',
    path: '/payments',
    headers: { 'idempotency-key': '{reference}' },
    body: '{"accountId":{account},"amount":12.34,"paymentMethodId":2,"transactionRef":"{reference}"}',
  };
  const fixed = (path) => ({
    method: 'GET',
    path,
    ranges: {},
    bare: { path: `/api${path}`.replace(/\?.*/, ''), variables: {} },
  });

  return [
    {
      name: 'GET /accounts/:id',
      method: 'GET',
      path: '/accounts/{account}',
      ranges: { account },
      bare: { path: '/api/accounts/:account', variables: { account: 'account' } },
    },
    {
      name: 'GET /accounts?customerId=, page and exact total',
      method: 'GET',
      path: '/accounts?customerId={customer}',
      ranges: { customer: [1, customers] },
      bare: { path: '/api/accounts', variables: { customer: 'customerId' } },
    },
    {
      name: 'GET /accounts?status=, a status that 70 % of the accounts have',
      ...fixed('/accounts?status=active&sort=createdAt:desc&limit=20'),
    },
    {
      name: 'GET /accounts?status=, a status that 300 accounts have',
      ...fixed('/accounts?status=repossessed&sort=createdAt:desc&limit=20'),
    },
    {
      name: 'GET /customers?search=, a name that 1 % of the customers have',
      ...fixed(`/customers?search=${SEARCHED_NAME}`),
    },
    { name: 'POST /payments with an Idempotency-Key', ...payment, ranges: { account } },
    {
      name: 'POST webhook, matched by account number',
      method: 'POST',
      path: '/webhooks/payments/mobilemoney',
      body:
        '{"TransactionType":"Pay Bill","TransID":"{reference}","TransTime":"20260105101530","TransAmount":"12.34",' +
        '"BusinessShortCode":"600638","BillRefNumber":"{accountNumber}","MSISDN":"254799999999","account":{account}}',
      ranges: { account },
    },
    { name: 'POST /payments, all on one account', ...payment, ranges: { account: [one, one] } },
  ];
}
