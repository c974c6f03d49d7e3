import { useLocation } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { PageHead, Panel } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { createdColumn, statusColumn } from '../shared/columns.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { FILES, IMPORT_TONES, type Import, rowsOf } from '../shared/imports.ts';
import { ListPanel, useList } from '../shared/list.tsx';
import { WriteNotice } from '../shared/write-notice.tsx';

export function Page() {
  const create = useWrite('post', '/api/imports');
  const [, navigate] = useLocation();
  return (
    <>
      <PageHead
        title={t('nav.imports')}
        actions={
          <>
            <Button
              kind="primary"
              icon="plus"
              isBusy={create.isSending}
              onClick={async () => {
                const created = await create.send({ body: {} });
                if (created) navigate(`/imports/${created.id}`);
              }}
            >
              {t('imports.new')}
            </Button>
            {may('exports:read') && (
              <DownloadButton path="/api/exports/portfolio">{t('imports.export')}</DownloadButton>
            )}
          </>
        }
      >
        {t('imports.lead')}
      </PageHead>
      <WriteNotice problem={create.problem} />
      <div className="column">
        <Imports />
        <Panel title={t('imports.templates')}>
          <p>{t('imports.templates.lead')}</p>
          <Actions>
            {FILES.map((file) => (
              <DownloadButton key={file} path={`/api/imports/templates/${file}`}>
                {`${file}.csv`}
              </DownloadButton>
            ))}
          </Actions>
        </Panel>
      </div>
    </>
  );
}

function Imports() {
  const list = useList({ name: 'createdAt', isDescending: true });
  const imports = api.useQuery('get', '/api/imports', { params: { query: list.query } }, KEEPS_LAST);
  return (
    <ListPanel
      caption={t('nav.imports')}
      list={list}
      query={imports}
      columns={columnsOf()}
      hrefOf={({ id }) => `/imports/${id}`}
      none={t('imports.none')}
    />
  );
}

function columnsOf(): Column<Import>[] {
  return [
    { name: 'id', label: t('nav.imports'), canSort: true, show: ({ id }) => t('imports.number', { id }) },
    statusColumn(IMPORT_TONES, (status) => tValue('importStatus', status), { onPhone: 'value' }),
    {
      name: 'rows',
      label: t('imports.rows'),
      isNumber: true,
      show: (row) => format.number(rowsOf(row)),
    },
    createdColumn(),
  ];
}
