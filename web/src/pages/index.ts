import type { ComponentType } from 'react';
import type { Permission } from '../api/paths.ts';
import { loadMessages, type MessageFile, type MessageKey } from '../i18n/index.ts';
import type { IconName } from '../ui/icons.tsx';

interface PageEntry {
  /** A path of the router (wouter). The page gets the parameters of the path as string properties. */
  path: string;
  /** Users without this permission see neither the page nor its link. */
  permission: Permission;
  /** The messages of the page: the name of a file in i18n/en and i18n/sw. */
  messages: MessageFile;
  // biome-ignore lint/suspicious/noExplicitAny: Each page has its own parameters.
  load(): Promise<{ Page: ComponentType<any> }>;
  /** The setting without which the page is not in the navigation. */
  setting?: 'cashCounts';
  /** The entry in the navigation, if the page has one. */
  navigation?: { label: NavigationKey; icon: IconName; section?: Section };
}

type NavigationKey = Extract<MessageKey, `nav.${string}`>;

/** Groups of links in the navigation, below the links of the pages without a section. */
export const SECTIONS = ['catalogue', 'administration'] as const;
export type Section = (typeof SECTIONS)[number];

/** The pages in the order of the navigation. Each page is a separate file, which the browser loads when the page is opened. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/today',
    permission: 'payments:read',
    messages: 'today',
    load: () => import('./today/page.tsx'),
    navigation: { label: 'nav.today', icon: 'home' },
  },
  {
    path: '/find',
    permission: 'accounts:read',
    messages: 'find',
    load: () => import('./find/page.tsx'),
    navigation: { label: 'nav.find', icon: 'search' },
  },
  {
    path: '/unmatched',
    permission: 'payers:read',
    messages: 'unmatched',
    load: () => import('./unmatched/page.tsx'),
    navigation: { label: 'nav.unmatched', icon: 'inbox' },
  },
  {
    path: '/approvals',
    permission: 'approvals:read',
    messages: 'approvals',
    load: () => import('./approvals/page.tsx'),
    navigation: { label: 'nav.approvals', icon: 'check' },
  },
  {
    path: '/cash',
    permission: 'cash:count',
    messages: 'cash',
    load: () => import('./cash/page.tsx'),
    setting: 'cashCounts',
    navigation: { label: 'nav.cash', icon: 'wallet' },
  },
  {
    path: '/cash/office',
    permission: 'cash:read',
    messages: 'cash',
    load: () => import('./cash-office/page.tsx'),
    setting: 'cashCounts',
    navigation: { label: 'nav.cashOffice', icon: 'money' },
  },
  {
    path: '/call-list',
    permission: 'calls:read',
    messages: 'calls',
    load: () => import('./call-list/page.tsx'),
    navigation: { label: 'nav.callList', icon: 'phone' },
  },
  {
    path: '/call-list/:id',
    permission: 'calls:read',
    messages: 'calls',
    load: () => import('./call/page.tsx'),
  },
  {
    path: '/promises',
    permission: 'calls:read',
    messages: 'calls',
    load: () => import('./promises/page.tsx'),
  },
  {
    path: '/call-results',
    permission: 'calls:read',
    messages: 'calls',
    load: () => import('./call-results/page.tsx'),
  },
  {
    path: '/statements',
    permission: 'reconciliations:read',
    messages: 'provider-statements',
    load: () => import('./provider-statements/page.tsx'),
    navigation: { label: 'nav.providerStatements', icon: 'bank' },
  },
  {
    path: '/statements/:id',
    permission: 'reconciliations:read',
    messages: 'provider-statements',
    load: () => import('./provider-statement/page.tsx'),
  },
  {
    path: '/sales/new',
    permission: 'accounts:create',
    messages: 'sale',
    load: () => import('./sale/page.tsx'),
    navigation: { label: 'nav.sale', icon: 'plus' },
  },
  {
    path: '/portfolio',
    permission: 'reports:read',
    messages: 'portfolio',
    load: () => import('./portfolio/page.tsx'),
    navigation: { label: 'nav.portfolio', icon: 'chart' },
  },
  {
    path: '/portfolio/late',
    permission: 'reports:read',
    messages: 'portfolio',
    load: () => import('./portfolio/late-page.tsx'),
  },
  {
    path: '/customers',
    permission: 'customers:read',
    messages: 'customers',
    load: () => import('./customers/page.tsx'),
    navigation: { label: 'nav.customers', icon: 'people' },
  },
  {
    path: '/customers/:id',
    permission: 'customers:read',
    messages: 'customer',
    load: () => import('./customer/page.tsx'),
  },
  {
    path: '/payments/:id',
    permission: 'payments:read',
    messages: 'payment',
    load: () => import('./payment/page.tsx'),
  },
  {
    path: '/invoices/:id',
    permission: 'invoices:read',
    messages: 'invoice',
    load: () => import('./invoice/page.tsx'),
  },
  {
    path: '/accounts',
    permission: 'accounts:read',
    messages: 'accounts',
    load: () => import('./accounts/page.tsx'),
    navigation: { label: 'nav.accounts', icon: 'wallet' },
  },
  {
    path: '/accounts/:id',
    permission: 'accounts:read',
    messages: 'account',
    load: () => import('./account/page.tsx'),
  },
  {
    path: '/plan-changes',
    permission: 'accounts:read',
    messages: 'plan-changes',
    load: () => import('./plan-changes/page.tsx'),
    navigation: { label: 'nav.planChanges', icon: 'change' },
  },
  {
    path: '/plan-changes/many/:id?',
    permission: 'accounts:read',
    messages: 'plan-changes',
    load: () => import('./bulk-deferral/page.tsx'),
  },
  {
    path: '/payments',
    permission: 'payments:read',
    messages: 'payments',
    load: () => import('./payments/page.tsx'),
    navigation: { label: 'nav.payments', icon: 'money' },
  },
  {
    path: '/invoices',
    permission: 'invoices:read',
    messages: 'invoices',
    load: () => import('./invoices/page.tsx'),
    navigation: { label: 'nav.invoices', icon: 'file' },
  },
  {
    path: '/commissions',
    permission: 'commissions:read-own',
    messages: 'commissions',
    load: () => import('./commissions/page.tsx'),
    navigation: { label: 'nav.commissions', icon: 'percent' },
  },
  {
    path: '/commissions/month',
    permission: 'commissions:read',
    messages: 'commissions',
    load: () => import('./commission-month/page.tsx'),
  },
  {
    path: '/commissions/unclaimed-sales',
    permission: 'commissions:read',
    messages: 'commissions',
    load: () => import('./unclaimed-sales/page.tsx'),
  },
  {
    path: '/commissions/rules',
    permission: 'commissions:read',
    messages: 'commission-rules',
    load: () => import('./commission-rules/page.tsx'),
  },
  {
    path: '/products',
    permission: 'catalogue:read',
    messages: 'products',
    load: () => import('./products/page.tsx'),
    navigation: { label: 'nav.products', icon: 'box', section: 'catalogue' },
  },
  {
    path: '/products/:id',
    permission: 'catalogue:read',
    messages: 'products',
    load: () => import('./product/page.tsx'),
  },
  {
    path: '/pay-plans',
    permission: 'catalogue:read',
    messages: 'pay-plans',
    load: () => import('./pay-plans/page.tsx'),
    navigation: { label: 'nav.payPlans', icon: 'calendar', section: 'catalogue' },
  },
  {
    path: '/payment-methods',
    permission: 'catalogue:read',
    messages: 'payment-methods',
    load: () => import('./payment-methods/page.tsx'),
    navigation: { label: 'nav.paymentMethods', icon: 'card', section: 'catalogue' },
  },
  {
    path: '/employees',
    permission: 'catalogue:read',
    messages: 'employees',
    load: () => import('./employees/page.tsx'),
    navigation: { label: 'nav.employees', icon: 'badge', section: 'catalogue' },
  },
  {
    path: '/users',
    permission: 'users:administer',
    messages: 'users',
    load: () => import('./users/page.tsx'),
    navigation: { label: 'nav.users', icon: 'user', section: 'administration' },
  },
  {
    path: '/invitations',
    permission: 'users:administer',
    messages: 'users',
    load: () => import('./invitations/page.tsx'),
  },
  {
    path: '/api-keys',
    permission: 'api-keys:administer',
    messages: 'api-keys',
    load: () => import('./api-keys/page.tsx'),
    navigation: { label: 'nav.apiKeys', icon: 'key', section: 'administration' },
  },
  {
    path: '/webhook-endpoints',
    permission: 'webhook-endpoints:administer',
    messages: 'webhooks',
    load: () => import('./webhook-endpoints/page.tsx'),
    navigation: { label: 'nav.webhooks', icon: 'link', section: 'administration' },
  },
  {
    path: '/webhook-endpoints/:id',
    permission: 'webhook-endpoints:administer',
    messages: 'webhooks',
    load: () => import('./webhook-endpoint/page.tsx'),
  },
  {
    path: '/imports',
    permission: 'imports:run',
    messages: 'imports',
    load: () => import('./imports/page.tsx'),
    navigation: { label: 'nav.imports', icon: 'upload', section: 'administration' },
  },
  {
    path: '/imports/:id',
    permission: 'imports:run',
    messages: 'imports',
    load: () => import('./import/page.tsx'),
  },
  {
    path: '/audit',
    permission: 'audit:read',
    messages: 'audit',
    load: () => import('./audit/page.tsx'),
    navigation: { label: 'nav.audit', icon: 'clock', section: 'administration' },
  },
];

/** The label of a page in the navigation, or else of the page above it, such as `/accounts` for `/accounts/:id`. */
export function labelOf(path: string): NavigationKey | undefined {
  const page = PAGES.find((one) => one.path === path);
  return page?.navigation?.label ?? (path === '' ? undefined : labelOf(path.slice(0, path.lastIndexOf('/'))));
}

/** The component of a page, with its messages. */
export async function loadPage({ load, messages }: PageEntry) {
  const [{ Page }] = await Promise.all([load(), loadMessages(messages)]);
  return Page;
}

/** Loads the page for a URL while the session is restored. If this fails, the route loads the page again and shows a failure. */
export function preloadPage(pathname: string): void {
  const segments = pathname.split('/');
  const page = PAGES.find(({ path }) => {
    const own = path.split('/');
    return (
      own.length === segments.length && own.every((one, i) => one.startsWith(':') || one === segments[i])
    );
  });
  if (page) loadPage(page).catch(() => undefined);
}
