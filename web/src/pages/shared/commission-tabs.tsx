import { useLocation } from 'wouter';
import { may } from '../../api/session.ts';
import { t } from '../../i18n/index.ts';
import { Tabs } from '../../ui/tabs.tsx';

export function CommissionTabs() {
  const [location] = useLocation();
  // Agents see only their own commissions and no rules, so they need no tabs.
  if (!may('commissions:read')) return null;
  return (
    <Tabs
      label={t('nav.commissions')}
      tabs={[
        { href: '/commissions', label: t('nav.commissions'), isCurrent: location === '/commissions' },
        {
          href: '/commissions/month',
          label: t('commissions.month'),
          isCurrent: location === '/commissions/month',
        },
        {
          href: '/commissions/unclaimed-sales',
          label: t('commissions.unclaimed'),
          isCurrent: location === '/commissions/unclaimed-sales',
        },
        {
          href: '/commissions/rules',
          label: t('commissionRules.title'),
          isCurrent: location === '/commissions/rules',
        },
      ]}
    />
  );
}
