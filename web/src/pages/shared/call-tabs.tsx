import { useLocation } from 'wouter';
import { t } from '../../i18n/index.ts';
import { Tabs } from '../../ui/tabs.tsx';

export function CallTabs() {
  const [location] = useLocation();
  return (
    <Tabs
      label={t('nav.callList')}
      tabs={[
        { href: '/call-list', label: t('calls.tab.list'), isCurrent: location === '/call-list' },
        { href: '/promises', label: t('calls.tab.promises'), isCurrent: location === '/promises' },
        { href: '/call-results', label: t('calls.tab.results'), isCurrent: location === '/call-results' },
      ]}
    />
  );
}
