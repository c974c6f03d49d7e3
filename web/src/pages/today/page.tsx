import { api } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { Columns, PageHead } from '../../ui/panel.tsx';
import { Attention } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';
import { MoneyPanel, MoneyStats } from './money.tsx';

/** The overview for the start of a working day. Reads the work and the money separately, because the money takes longer. */
export function Page() {
  const work = api.useQuery('get', '/api/reports/today');
  return (
    <>
      <PageHead title={t('nav.today')} eyebrow={format.date(settings().today)} />
      {may('reports:read') && <MoneyStats />}
      <Columns
        isSideFirst
        main={
          <>
            {may('reports:read') && <MoneyPanel />}
            <LatePanel work={work} />
          </>
        }
        side={<Attention work={work} />}
      />
    </>
  );
}
