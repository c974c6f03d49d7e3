import { Link } from 'wouter';
import type { Schemas } from '../../api/paths.ts';
import { currentLanguage, format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { DownloadButton } from '../shared/download-button.tsx';

interface InvoicesProps {
  latest: NonNullable<Schemas['AccountOverview']['invoices']>;
}

export function Invoices({ latest: { rows, total } }: InvoicesProps) {
  return (
    <Panel title={t('nav.invoices')}>
      {rows.length === 0 ? (
        <p className="muted">{t('account.invoices.none')}</p>
      ) : (
        <ul className="rows">
          {rows.map((invoice) => (
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
      )}
      {total > rows.length && (
        <p className="muted">
          {t('list.some', { shown: format.number(rows.length), total: format.number(total) })}
        </p>
      )}
    </Panel>
  );
}
