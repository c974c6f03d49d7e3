import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { currentLanguage, format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { DownloadButton } from '../shared/download-button.tsx';

const MOST_ROWS = 20;

export function Invoices({ accountId }: { accountId: number }) {
  const query = { 'filter[accountId]': { eq: accountId }, sort: 'issuedOn:desc', limit: MOST_ROWS };
  const invoices = api.useQuery('get', '/api/invoices', { params: { query } });
  return (
    <Panel title={t('nav.invoices')}>
      <Loaded query={invoices} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ data, pagination: { total = data.length } }) =>
          data.length === 0 ? (
            <p className="muted">{t('account.invoices.none')}</p>
          ) : (
            <>
              <ul className="rows">
                {data.map((invoice) => (
                  <li key={invoice.id}>
                    <span>
                      <Link className="mono nowrap" href={`/invoices/${invoice.id}`}>
                        {invoice.number}
                      </Link>
                      <span className="muted">{format.date(invoice.issuedOn)}</span>
                      <span>{format.money(invoice.total)}</span>
                      {invoice.status === 'void' && <Badge>{tValue('invoiceStatus', invoice.status)}</Badge>}
                    </span>
                    <DownloadButton path={`/api/invoices/${invoice.id}/pdf?lang=${currentLanguage()}`}>
                      PDF
                    </DownloadButton>
                  </li>
                ))}
              </ul>
              {total > data.length && (
                <p className="muted">
                  {t('list.some', { shown: format.number(data.length), total: format.number(total) })}
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}
