import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { PageHead, Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { CallTabs } from '../shared/call-tabs.tsx';
import { moneyColumn } from '../shared/columns.tsx';

type Row = Schemas['OfficerWeek'];

/** What the officers achieved in the last weeks. Officers see only their own results. */
export function Page() {
  const results = api.useQuery('get', '/api/call-results');
  return (
    <>
      <PageHead title={t('nav.callList')} tabTitle={t('calls.tab.results')} />
      <CallTabs />
      <Panel title={t('calls.tab.results')} isFlush>
        <Loaded query={results} explain={explain} skeleton={<Skeleton lines={6} />}>
          {({ data: { rows } }) =>
            rows.length === 0 ? (
              <Empty>{t('calls.results.none')}</Empty>
            ) : (
              <Table
                caption={t('calls.tab.results')}
                columns={columns()}
                rows={rows}
                keyOf={({ userId, week }) => `${week}-${userId}`}
              />
            )
          }
        </Loaded>
      </Panel>
      <p className="muted">{t('calls.results.explained')}</p>
    </>
  );
}

const countColumn = (name: string, label: string, countOf: (row: Row) => number): Column<Row> => ({
  name,
  label,
  isNumber: true,
  onPhone: 'detail',
  show: (row) => format.number(countOf(row)),
});

const shareColumn = (name: string, label: string, ratioOf: (row: Row) => number | null): Column<Row> => ({
  name,
  label,
  isNumber: true,
  onPhone: 'detail',
  show: (row) => {
    const ratio = ratioOf(row);
    return ratio === null ? '–' : format.percent(ratio);
  },
});

const columns = (): Column<Row>[] => [
  { name: 'officer', label: t('calls.results.officer'), onPhone: 'title', show: ({ officer }) => officer },
  {
    name: 'week',
    label: t('calls.results.week'),
    onPhone: 'plain',
    show: ({ week }) => <span className="nowrap">{week}</span>,
  },
  countColumn('calls', t('calls.results.calls'), ({ calls }) => calls),
  countColumn('contacts', t('calls.results.contacts'), ({ contacts }) => contacts),
  countColumn('promises', t('calls.results.promises'), ({ promises }) => promises),
  shareColumn('keptShare', t('calls.results.keptShare'), ({ keptShare }) => keptShare.ratio),
  shareColumn(
    'keptValueShare',
    t('calls.results.keptValueShare'),
    ({ keptValueShare }) => keptValueShare.ratio,
  ),
  moneyColumn('collected', t('calls.results.collected'), ({ collected }) => collected),
];
