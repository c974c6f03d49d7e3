import type { ComponentType } from 'react';
import type { Permission } from '../api/paths.ts';
import type { MessageKey } from '../i18n/index.ts';
import type { IconName } from '../ui/icons.tsx';

export interface PageEntry {
  /** Of wouter. Its parameters are the properties of the page, as text. */
  path: string;
  /** Users without it see neither the page nor its link. */
  permission: Permission;
  // biome-ignore lint/suspicious/noExplicitAny: Each page has its own parameters.
  load(): Promise<{ Page: ComponentType<any> }>;
  /** In the navigation, if it is there. */
  navigation?: { label: NavigationKey; icon: IconName; section?: Section };
}

type NavigationKey = Extract<MessageKey, `nav.${string}`>;

/** Groups of the navigation, below the pages without a section. */
export const SECTIONS = ['catalogue', 'administration'] as const;
export type Section = (typeof SECTIONS)[number];

/** The pages in the order of the navigation. Each is a file of its own, which the browser loads when it is opened. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/today',
    permission: 'payments:read',
    load: () => import('./today/page.tsx'),
    navigation: { label: 'nav.today', icon: 'home' },
  },
  {
    path: '/find',
    permission: 'accounts:read',
    load: () => import('./find/page.tsx'),
    navigation: { label: 'nav.find', icon: 'search' },
  },
  {
    path: '/unmatched',
    permission: 'payers:read',
    load: () => import('./unmatched/page.tsx'),
    navigation: { label: 'nav.unmatched', icon: 'inbox' },
  },
  {
    path: '/statements',
    permission: 'reconciliations:read',
    load: () => import('./statements/page.tsx'),
    navigation: { label: 'nav.statements', icon: 'file' },
  },
  { path: '/statements/:id', permission: 'reconciliations:read', load: () => import('./statement/page.tsx') },
  {
    path: '/sales/new',
    permission: 'accounts:create',
    load: () => import('./sale/page.tsx'),
    navigation: { label: 'nav.sale', icon: 'plus' },
  },
  {
    path: '/portfolio',
    permission: 'reports:read',
    load: () => import('./portfolio/page.tsx'),
    navigation: { label: 'nav.portfolio', icon: 'chart' },
  },
  { path: '/portfolio/late', permission: 'reports:read', load: () => import('./portfolio/late-page.tsx') },
  {
    path: '/customers',
    permission: 'customers:read',
    load: () => import('./customers/page.tsx'),
    navigation: { label: 'nav.customers', icon: 'people' },
  },
  { path: '/customers/:id', permission: 'customers:read', load: () => import('./customer/page.tsx') },
  { path: '/payments/:id', permission: 'payments:read', load: () => import('./payment/page.tsx') },
  { path: '/invoices/:id', permission: 'invoices:read', load: () => import('./invoice/page.tsx') },
  {
    path: '/accounts',
    permission: 'accounts:read',
    load: () => import('./accounts/page.tsx'),
    navigation: { label: 'nav.accounts', icon: 'wallet' },
  },
  { path: '/accounts/:id', permission: 'accounts:read', load: () => import('./account/page.tsx') },
  {
    path: '/payments',
    permission: 'payments:read',
    load: () => import('./payments/page.tsx'),
    navigation: { label: 'nav.payments', icon: 'money' },
  },
  {
    path: '/invoices',
    permission: 'invoices:read',
    load: () => import('./invoices/page.tsx'),
    navigation: { label: 'nav.invoices', icon: 'file' },
  },
  {
    path: '/commissions',
    permission: 'commissions:read-own',
    load: () => import('./commissions/page.tsx'),
    navigation: { label: 'nav.commissions', icon: 'percent' },
  },
  {
    path: '/commissions/rules',
    permission: 'commissions:read',
    load: () => import('./commission-rules/page.tsx'),
  },
  {
    path: '/products',
    permission: 'catalogue:read',
    load: () => import('./products/page.tsx'),
    navigation: { label: 'nav.products', icon: 'box', section: 'catalogue' },
  },
  { path: '/products/:id', permission: 'catalogue:read', load: () => import('./product/page.tsx') },
  {
    path: '/pay-plans',
    permission: 'catalogue:read',
    load: () => import('./pay-plans/page.tsx'),
    navigation: { label: 'nav.payPlans', icon: 'calendar', section: 'catalogue' },
  },
  {
    path: '/payment-methods',
    permission: 'catalogue:read',
    load: () => import('./payment-methods/page.tsx'),
    navigation: { label: 'nav.paymentMethods', icon: 'card', section: 'catalogue' },
  },
  {
    path: '/employees',
    permission: 'catalogue:read',
    load: () => import('./employees/page.tsx'),
    navigation: { label: 'nav.employees', icon: 'badge', section: 'catalogue' },
  },
  {
    path: '/users',
    permission: 'users:administer',
    load: () => import('./users/page.tsx'),
    navigation: { label: 'nav.users', icon: 'user', section: 'administration' },
  },
  { path: '/invitations', permission: 'users:administer', load: () => import('./invitations/page.tsx') },
  {
    path: '/api-keys',
    permission: 'api-keys:administer',
    load: () => import('./api-keys/page.tsx'),
    navigation: { label: 'nav.apiKeys', icon: 'key', section: 'administration' },
  },
  {
    path: '/webhook-endpoints',
    permission: 'webhook-endpoints:administer',
    load: () => import('./webhook-endpoints/page.tsx'),
    navigation: { label: 'nav.webhooks', icon: 'link', section: 'administration' },
  },
  {
    path: '/webhook-endpoints/:id',
    permission: 'webhook-endpoints:administer',
    load: () => import('./webhook-endpoint/page.tsx'),
  },
  {
    path: '/audit',
    permission: 'audit:read',
    load: () => import('./audit/page.tsx'),
    navigation: { label: 'nav.audit', icon: 'clock', section: 'administration' },
  },
];
