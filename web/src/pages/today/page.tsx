import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { Columns, PageHead } from '../../ui/panel.tsx';
import { Attention } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';
import { MoneyPanel, MoneyStats } from './money.tsx';

/** The overview for the start of a working day. */
export function Page() {
  const { today } = settings();
  return (
    <>
      <PageHead title={t('nav.today')} eyebrow={format.date(today)} />
      {may('reports:read') && <MoneyStats today={today} />}
      <Columns
        isSideFirst
        main={
          <>
            {may('reports:read') && <MoneyPanel today={today} />}
            <LatePanel />
          </>
        }
        side={<Attention />}
      />
    </>
  );
}
