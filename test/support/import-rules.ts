import type { ICruiseOptions, IRegularForbiddenRuleType } from 'dependency-cruiser';

/** The import rules, by the role of a file (see CONTRIBUTING.md). boundaries.test.ts checks them. */

/** The other features that a feature may import, and why. */
export const FEATURES_MAY_IMPORT: Record<string, string[]> = {
  // A statement lists the terms and the money of an account.
  'account-statements': ['account-status', 'accounts', 'ledger', 'pay-plans'],
  // An account shows its customer, copies the terms of a pay plan, and checks that the product and the employee are active.
  // A write-off or a cancellation may need approval.
  accounts: ['account-status', 'approvals', 'customers', 'employees', 'ledger', 'pay-plans', 'products'],
  // A session belongs to a user. A session or an API key identifies the caller of a request.
  auth: ['api-keys', 'users'],
  // An employee earns a commission for accounts, and sees their statuses.
  commissions: ['account-status', 'employees'],
  // Credit leaves accounts by a payment method, and may need approval.
  credit: ['accounts', 'approvals', 'ledger', 'payment-methods'],
  // An invoice prints the number of its account.
  invoices: ['accounts'],
  kyc: ['customers'],
  // The ledger changes the status of accounts that are now paid in full, or no longer.
  ledger: ['account-status'],
  // Payments whose notification was lost are posted like notifications.
  'lost-notifications': ['payments'],
  // An overview has what a page of the console shows, from the functions of all these features.
  overviews: [
    'account-statements',
    'account-status',
    'accounts',
    'approvals',
    'invoices',
    'lost-notifications',
    'payment-requests',
    'payments',
    'proof',
    'reports',
    'webhook-endpoints',
  ],
  // A payment is posted to an account, which may be found by the national id of a customer. A reversal may need approval.
  payments: ['account-status', 'accounts', 'approvals', 'customers', 'ledger'],
  // A payment request asks for money that an account owes, and its answer is posted like a notification.
  'payment-requests': ['accounts', 'ledger', 'payments'],
  // The repair of a phone asks the matching of payments whether payments would match another account.
  'phone-repair': ['customers', 'employees', 'payments'],
  // A portfolio has files of all these features. An import makes ledger entries by the rules of the ledger and
  // of payments, ends with the proof, and acts for a user.
  portfolio: ['account-status', 'accounts', 'customers', 'ledger', 'pay-plans', 'payments', 'proof', 'users'],
  // The proof reads the status table of accounts, and names payment methods and providers.
  proof: ['account-status', 'payment-methods', 'payments'],
  // A statement imports lost notifications, and reconciles payments for the user or the API key that asks.
  'provider-statements': ['api-keys', 'payment-methods', 'payments', 'reconciliations', 'users'],
  // Reports print account numbers, statuses and the names of payment methods.
  reports: ['account-status', 'accounts', 'payment-methods', 'payments'],
  // A search reads account numbers, and normalizes names like the search of customers.
  search: ['accounts', 'customers'],
  // Staff ask the provider about a payment or a notification. An answer that fits no query becomes a rejected notification.
  'status-queries': ['payments'],
  // Webhooks deliver events.
  'webhook-endpoints': ['events'],
};

const ROLE = '(^|[/-])(schema|rules|store|commands|view|routes)[.]ts$';

/** Files of a feature without a role, and why. */
const WITHOUT_ROLE: Record<string, string> = {
  'src/auth/access-tokens.ts':
    'issues and verifies access tokens, and identifies callers for the access hook of core/http',
  'src/auth/browser-cookies.ts':
    'cookies of sign-in and sessions, and the check that a page of this service uses them',
  'src/auth/identity-providers.ts': 'client of OpenID Connect providers',
  'src/events/feed-horizon.ts': 'finds the id up to which the feed is complete',
  'src/events/feed.ts': 'looks for new events on behalf of all readers',
  'src/events/server-sent-events.ts': 'writes events as Server-Sent Events',
  'src/users/passwords.ts': 'hashes passwords in threads',
};

const FEATURE = '^src/(?!(?:core|platform|cli|demo)/)([^/]+)/';
/** Every feature publishes and records its changes through these files. */
const CHANGES = '^src/events/(catalogue-schema|change-rules|change-schema|change-store)[.]ts$';
const ASSEMBLY = '^src/[^/]+[.]ts$';
const CONFIG = '^src/config[a-z-]*[.]ts$';
const CORE = '^src/core/';
const DEMO = '^src/demo/';
const RULES = 'rules[.]ts$';
const SCHEMA = 'schema[.]ts$';
/** The file of the assembly that features and platform may import. */
const SHARED = '^src/rights[.]ts$';
const PACKAGES: IRegularForbiddenRuleType['to'] = {
  dependencyTypes: ['npm', 'core', 'npm-dev', 'npm-optional', 'unknown'],
};

const forbid = (
  name: string,
  from: IRegularForbiddenRuleType['from'],
  to: IRegularForbiddenRuleType['to'],
) => ({
  name,
  severity: 'error' as const,
  from,
  to,
});

export const FORBIDDEN = [
  forbid('no file imports itself in a cycle', {}, { circular: true }),
  forbid('core imports only core', { path: CORE }, { path: '^src/', pathNot: CORE }),
  forbid('platform imports no feature', { path: '^src/platform/' }, { path: [FEATURE, '^src/cli/'] }),
  forbid(
    'a feature imports nothing of platform but the printer, the job queue and outbound requests',
    { path: FEATURE },
    { path: '^src/platform/', pathNot: '^src/platform/(printing/printer|jobs/queue|outbound/[^/]+)[.]ts$' },
  ),
  forbid(
    'the files through which features publish changes import only core and each other',
    { path: CHANGES },
    { path: '^src/', pathNot: [CORE, CHANGES] },
  ),
  forbid(
    'only the assembly, the CLI and the demo import the assembly',
    { path: '^src/', pathNot: [ASSEMBLY, '^src/cli/', DEMO] },
    { path: ASSEMBLY, pathNot: SHARED },
  ),
  forbid(
    'only the assembly and the CLI import the demo',
    { path: '^src/', pathNot: [ASSEMBLY, '^src/cli/', DEMO] },
    { path: DEMO },
  ),
  forbid(
    'the configuration imports only core, rules and the permissions',
    { path: CONFIG },
    { path: '^src/', pathNot: [CORE, RULES, CONFIG, '^src/rights[.]ts$'] },
  ),
  forbid(
    'only app.ts imports routes',
    { pathNot: '^src/app[.]ts$' },
    {
      path: '[/-]routes[.]ts$',
      pathNot: [
        // This file belongs to no feature: it adds the same two routes for each resource with an external id.
        '^src/core/http/external-id-routes[.]ts$',
      ],
    },
  ),
  forbid(
    'rules and schemas import only core, rules and schemas',
    { path: [RULES, SCHEMA] },
    {
      path: '^src/',
      pathNot: [CORE, RULES, SCHEMA, '/provider[.]ts$', '^src/rights[.]ts$'],
    },
  ),
  forbid(
    'rules import no package but a word list',
    { path: RULES },
    { ...PACKAGES, pathNot: '@zxcvbn-ts/language-common' },
  ),
  forbid('a store imports no commands', { path: 'store[.]ts$' }, { path: 'commands[.]ts$' }),
  forbid('a view imports no commands', { path: 'view[.]ts$' }, { path: 'commands[.]ts$' }),
  forbid(
    'the service and the simulator do not import each other: they talk over HTTP',
    { path: '^(src|tools)/' },
    { path: '^(src|tools)/', pathNot: '^$1/' },
  ),
  ...Object.entries(FEATURES_MAY_IMPORT).map(([feature, others]) =>
    forbid(
      `${feature} imports no features but ${others.join(', ')}`,
      { path: `^src/${feature}/` },
      { path: FEATURE, pathNot: [`^src/(${[feature, ...others].join('|')})/`, CHANGES] },
    ),
  ),
  forbid(
    'a feature imports another only if FEATURES_MAY_IMPORT lists it',
    { path: FEATURE, pathNot: `^src/(${Object.keys(FEATURES_MAY_IMPORT).join('|')})/` },
    { path: FEATURE, pathNot: ['^src/$1/', CHANGES] },
  ),
  forbid('every import exists', {}, { couldNotResolve: true }),
];

export const OPTIONS: ICruiseOptions = {
  parser: 'swc', // dependency-cruiser 17 has no parser for TypeScript 7.
  tsPreCompilationDeps: true,
  exclude: { path: '[.]test[.]ts$' },
  doNotFollow: { path: 'node_modules' },
  enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
};

/** Whether a file belongs to a feature, but has neither a role nor a reason in WITHOUT_ROLE. */
export function hasNoRole(path: string): boolean {
  const isFeature = new RegExp(FEATURE).test(path) && !path.startsWith('src/payments/providers/');
  return isFeature && !new RegExp(ROLE).test(path) && !(path in WITHOUT_ROLE);
}
