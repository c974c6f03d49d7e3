import { useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { currentLanguage, format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Columns, Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { DownloadButton } from '../shared/download-button.tsx';
import { VoidDialog } from './void-dialog.tsx';

type Item = Schemas['Invoice']['items'][number];

export function Page({ id }: { id: string }) {
  const invoice = api.useQuery('get', '/api/invoices/{id}', { params: { path: { id: Number(id) } } });
  return (
    <Loaded query={invoice} explain={explain} skeleton={<Skeleton lines={6} />}>
      {({ data }) => <InvoicePage invoice={data} />}
    </Loaded>
  );
}

function InvoicePage({ invoice }: { invoice: Schemas['Invoice'] }) {
  const [isVoiding, setIsVoiding] = useState(false);
  const columns: Column<Item>[] = [
    { name: 'description', label: t('field.description'), show: (row) => row.description },
    {
      name: 'quantity',
      label: t('invoice.quantity'),
      isNumber: true,
      show: (row) => format.number(row.quantity),
    },
    {
      name: 'unitPrice',
      label: t('invoice.unitPrice'),
      isNumber: true,
      show: (row) => format.amount(row.unitPrice),
    },
    {
      name: 'lineTotal',
      label: t('field.total'),
      isNumber: true,
      onPhone: 'value',
      show: (row) => format.amount(row.lineTotal),
    },
  ];
  return (
    <>
      <PageHead
        eyebrow={t('invoice.title')}
        title={invoice.number}
        tabTitle={`${t('invoice.title')} ${invoice.number}`}
        actions={
          <>
            <DownloadButton path={`/api/invoices/${invoice.id}/pdf?lang=${currentLanguage()}`}>
              {t('invoice.pdf')}
            </DownloadButton>
            {invoice.status === 'issued' && may('invoices:void') && (
              <Button kind="danger" onClick={() => setIsVoiding(true)}>
                {t('invoices.void')}
              </Button>
            )}
          </>
        }
      >
        <Badge tone="neutral">{tValue('invoiceStatus', invoice.status)}</Badge>
        {invoice.voidReason && <span>{invoice.voidReason}</span>}
      </PageHead>
      <Columns
        main={
          <Panel title={t('field.items')} isFlush>
            <Table
              caption={t('field.items')}
              columns={columns}
              rows={invoice.items}
              keyOf={(row) => invoice.items.indexOf(row)}
            />
          </Panel>
        }
        side={
          <Panel title={t('field.details')}>
            <Facts
              rows={[
                [t('field.total'), <strong key="total">{format.money(invoice.total)}</strong>],
                [t('field.customer'), invoice.customerName],
                [
                  t('account.number'),
                  <Link key="account" className="mono" href={`/accounts/${invoice.accountId}`}>
                    {invoice.accountNumber}
                  </Link>,
                ],
                [t('invoice.issuedOn'), format.date(invoice.issuedOn)],
                [t('invoice.dueDate'), invoice.dueDate && format.date(invoice.dueDate)],
                [t('invoice.voidedAt'), invoice.voidedAt && format.dateTime(invoice.voidedAt)],
              ]}
            />
          </Panel>
        }
      />
      {isVoiding && <VoidDialog invoice={invoice} onClose={() => setIsVoiding(false)} />}
    </>
  );
}
