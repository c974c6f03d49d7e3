import '../../ui/provider-statements.css';
import { useSearchParams } from 'wouter';
import type { Permission } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { t } from '../../i18n/index.ts';
import { PageHead } from '../../ui/panel.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Proof } from './proof.tsx';
import { Statements } from './statements.tsx';
import { Unreconciled } from './unreconciled.tsx';

const VIEWS = {
  statements: { Content: Statements, label: 'providerStatements.list', permission: 'reconciliations:read' },
  payments: { Content: Unreconciled, label: 'providerStatements.unreconciled', permission: 'payments:read' },
  proof: { Content: Proof, label: 'providerStatements.proof', permission: 'reports:read' },
} as const satisfies Record<string, { permission: Permission; [other: string]: unknown }>;
type View = keyof typeof VIEWS;

export function Page() {
  const [parameters] = useSearchParams();
  const allowed = (Object.keys(VIEWS) as View[]).filter((name) => may(VIEWS[name].permission));
  const view = allowed.find((name) => name === parameters.get('view')) ?? 'statements';
  const { Content } = VIEWS[view];
  return (
    <>
      <PageHead title={t('nav.providerStatements')} />
      <Tabs
        label={t('nav.providerStatements')}
        tabs={allowed.map((name) => ({
          href: name === 'statements' ? '/statements' : `/statements?view=${name}`,
          label: t(VIEWS[name].label),
          isCurrent: name === view,
        }))}
      />
      <Content />
    </>
  );
}
