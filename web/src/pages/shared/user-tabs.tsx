import { useLocation } from 'wouter';
import { t } from '../../i18n/index.ts';
import { Tabs } from '../../ui/tabs.tsx';

export function UserTabs() {
  const [location] = useLocation();
  return (
    <Tabs
      label={t('nav.users')}
      tabs={[
        { href: '/users', label: t('nav.users'), isCurrent: location === '/users' },
        { href: '/invitations', label: t('invitations.title'), isCurrent: location === '/invitations' },
      ]}
    />
  );
}
