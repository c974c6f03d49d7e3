import { useLocation } from 'wouter';
import { may } from '../../api/session.ts';
import { t } from '../../i18n/index.ts';
import { Tabs } from '../../ui/tabs.tsx';

export function CommissionTabs() {
  const [location] = useLocation();
  // Agents see their own commissions only, and no rules.
  if (!may('commissions:read')) return null;
  return (
    <Tabs
      label={t('nav.commissions')}
      tabs={[
        { href: '/commissions', label: t('nav.commissions'), isCurrent: location === '/commissions' },
        {
          href: '/commissions/rules',
          label: t('commissionRules.title'),
          isCurrent: location === '/commissions/rules',
        },
      ]}
    />
  );
}
