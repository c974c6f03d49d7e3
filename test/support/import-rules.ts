import { readFileSync } from 'node:fs';
import type { ICruiseOptions, IRegularForbiddenRuleType } from 'dependency-cruiser';

/** The import rules, by the role of a file (see ARCHITECTURE.md). boundaries.test.ts checks them. */

/** The wings: the folders of src/, in an order. A wing imports only wings before it. */
export const WINGS = [
  ...['core', 'platform', 'changes', 'staff', 'config', 'customers'],
  ...['catalogue', 'accounts', 'commissions', 'documents', 'payments'],
  ...['mobile-money', 'collections', 'reports', 'portfolio', 'start', 'demo', 'cli'],
];

/** The folders that import each other in a cycle. A wing stands for the files that are in none of its folders. */
export const FOLDERS_IN_CYCLES = [
  // Errors, dates and the context are used everywhere in core/, and each of them uses other folders of core/.
  ...['core', 'core/database', 'core/http', 'core/lists', 'core/values'],
  // Posting matches payments and answers notifications, and both post payments.
  ...['payments', 'payments/matching', 'payments/notifications', 'payments/posting'],
];

const ROLE = '(^|[/-])(schema|rules|store|commands|view|routes)[.]ts$';

/** Files of a feature without a role, and why. */
const WITHOUT_ROLE: Record<string, string> = {
  'src/staff/auth/access-tokens.ts':
    'issues and verifies access tokens, and identifies callers for the access hook of core/http',
  'src/staff/auth/browser-cookies.ts':
    'cookies of sign-in and sessions, and the check that a page of this service uses them',
  'src/staff/auth/identity-providers.ts': 'client of OpenID Connect providers',
  'src/changes/events/feed-horizon.ts': 'finds the id up to which the feed is complete',
  'src/changes/events/feed.ts': 'looks for new events on behalf of all readers',
  'src/changes/events/server-sent-events.ts': 'writes events as Server-Sent Events',
  'src/payments/locks.ts': 'states the order of the locks for which transactions wait, and takes them',
  'src/staff/users/passwords.ts': 'hashes passwords in threads',
};

const FEATURE = '^src/(?!(?:core|platform|config|start|demo|cli)/)([^/]+)/';
/** Every feature publishes and records its changes through these files. */
const CHANGES = '^src/changes/events/(catalogue-schema|change-rules|change-schema|change-store)[.]ts$';
const ASSEMBLY = '^src/[^/]+[.]ts$';
const CONFIG = '^src/config/';
const CORE = '^src/core/';
/** Files of providers have no roles: they are named after their provider. */
const PROVIDERS = '^src/mobile-money/providers/';
const RULES = 'rules[.]ts$';
const SCHEMA = 'schema[.]ts$';
/** The file of the assembly that all wings but core may import. */
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
    'only the assembly imports the assembly',
    { path: '^src/', pathNot: ASSEMBLY },
    { path: ASSEMBLY, pathNot: SHARED },
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
  forbid(
    'a store imports no actions',
    { path: '^src/.*store[.]ts$' },
    { path: FEATURE, pathNot: [RULES, SCHEMA, PROVIDERS, 'store[.]ts$'] },
  ),
  forbid(
    'a view imports no actions',
    { path: '^src/.*view[.]ts$' },
    { path: FEATURE, pathNot: [RULES, SCHEMA, PROVIDERS, 'store[.]ts$', 'view[.]ts$'] },
  ),
  forbid(
    'the service and the simulator do not import each other: they talk over HTTP',
    { path: '^(src|tools)/' },
    { path: '^(src|tools)/', pathNot: '^$1/' },
  ),
  ...WINGS.slice(0, -1).map((wing, position) =>
    forbid(
      `${wing} imports only wings before it`,
      { path: `^src/${wing}/` },
      { path: `^src/(${WINGS.slice(position + 1).join('|')})/` },
    ),
  ),
  // The types of the client are made when it is checked or built: they are missing in a new clone.
  forbid('every import exists', {}, { couldNotResolve: true, pathNot: 'generated/api[.]ts$' }),
];

export const OPTIONS: ICruiseOptions = {
  parser: 'swc', // dependency-cruiser 17 has no parser for TypeScript 7.
  tsPreCompilationDeps: true,
  exclude: { path: '[.]test[.]ts$' },
  doNotFollow: { path: 'node_modules' },
  enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
};

/**
 * Whether a file belongs to a feature, but has neither a role nor a reason in WITHOUT_ROLE. The file of an action exports the function
 * after which it is named.
 */
export function hasNoRole(path: string): boolean {
  const isFeature = new RegExp(FEATURE).test(path) && !new RegExp(PROVIDERS).test(path);
  return isFeature && !new RegExp(ROLE).test(path) && !isAction(path) && !(path in WITHOUT_ROLE);
}

function isAction(path: string): boolean {
  const name = (path.split('/').at(-1) ?? '').replace('.ts', '');
  const action = name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());
  return new RegExp(`^export (async )?function ${action}\\b`, 'm').test(readFileSync(path, 'utf8'));
}
