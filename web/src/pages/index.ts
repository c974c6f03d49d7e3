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
  navigation?: { label: Extract<MessageKey, `nav.${string}`>; icon: IconName };
}

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
    path: '/sales/new',
    permission: 'accounts:create',
    load: () => import('./sale/page.tsx'),
    navigation: { label: 'nav.sale', icon: 'plus' },
  },
  { path: '/customers/:id', permission: 'customers:read', load: () => import('./customer/page.tsx') },
  { path: '/payments/:id', permission: 'payments:read', load: () => import('./payment/page.tsx') },
  { path: '/invoices/:id', permission: 'invoices:read', load: () => import('./invoice/page.tsx') },
  { path: '/accounts/:id', permission: 'accounts:read', load: () => import('./account/page.tsx') },
];
