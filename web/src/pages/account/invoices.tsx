import { useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { currentLanguage, format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { InvoiceDialog } from './invoice-dialog.tsx';

interface InvoicesProps {
  account: Schemas['Account'];
  latest: NonNullable<Schemas['AccountOverview']['invoices']>;
}

export function Invoices({ account, latest: { rows, total } }: InvoicesProps) {
  const [isIssuing, setIsIssuing] = useState(false);
  return (
    <Panel
      title={t('nav.invoices')}
      actions={
        may('invoices:create') && (
          <Button icon="plus" onClick={() => setIsIssuing(true)}>
            {t('account.invoice.new')}
          </Button>
        )
      }
    >
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
      {isIssuing && <InvoiceDialog account={account} onClose={() => setIsIssuing(false)} />}
    </Panel>
  );
}
