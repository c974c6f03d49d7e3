import { api } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { format, t } from '../../i18n/index.ts';
import { Columns, PageHead } from '../../ui/panel.tsx';
import { Attention } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';
import { MoneyPanel, MoneyStats } from './money.tsx';

/** Keeps the line of the date, so that nothing moves when the answer arrives. */
const NO_DATE_YET = '\u00a0';

/** The overview for the start of a working day. Reads the work and the money separately, because the money takes longer. */
export function Page() {
  const work = api.useQuery('get', '/api/reports/today');
  // Not the day of the settings, which are loaded once: after midnight, it is the day before that of the figures.
  const date = work.data?.data.date;
  return (
    <>
      <PageHead title={t('nav.today')} eyebrow={date ? format.date(date) : NO_DATE_YET} />
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
