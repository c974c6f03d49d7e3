import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { currentSession, may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { AmountField, CheckField, DateField, TextAreaField, TextField } from '../../ui/form.tsx';
import { PageHead, Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { TablePanel } from '../shared/table-panel.tsx';

type Holder = Schemas['CashOverview']['holders'][number];
type Count = Schemas['CashCount'];
type Handover = Schemas['CashHandover'];
type Settlement = Schemas['CashSettlement'];
/** The open dialog, and the row that it is about. */
type Opened =
  | { what: 'settle' | 'close'; holder: Holder }
  | { what: 'opening'; count: Count }
  | { what: 'confirm' | 'reject'; handover: Handover }
  | { what: 'decide' | 'refuse'; settlement: Settlement };

/** The cash of all holders, and what waits for finance or for a second person. */
export function Page() {
  const overview = api.useQuery('get', '/api/cash/overview');
  const counts = api.useQuery('get', '/api/cash/counts', {
    params: { query: { 'filter[status]': { eq: 'open' } } },
  });
  const deposits = api.useQuery('get', '/api/cash/hand-overs', {
    params: { query: { 'filter[status]': { eq: 'deposited' } } },
  });
  const settlements = api.useQuery('get', '/api/cash/settlements', {
    params: { query: { 'filter[status]': { eq: 'requested' } } },
  });
  const [opened, setOpened] = useState<Opened>();
  return (
    <>
      <PageHead title={t('nav.cashOffice')} />
      <Loaded query={overview} explain={explain}>
        {({ data }) => (
          <>
            <Panel title={t('cash.holders')} isFlush>
              {data.holders.length === 0 ? (
                <Empty>{t('cash.none')}</Empty>
              ) : (
                <Table
                  caption={t('cash.holders')}
                  columns={holderColumns(setOpened)}
                  rows={data.holders}
                  keyOf={({ holderId, paymentMethodId }) => `${holderId} ${paymentMethodId}`}
                />
              )}
            </Panel>
            <Panel title={t('cash.withoutHolder')}>
              {data.withoutHolder.length === 0 && <Empty>{t('cash.none')}</Empty>}
              <ul className="rows">
                {data.withoutHolder.map(({ paymentMethodId, paymentMethod, amount }) => (
                  <li key={paymentMethodId}>
                    <span>{paymentMethod}</span>
                    <span>{format.money(amount)}</span>
                  </li>
                ))}
              </ul>
            </Panel>
          </>
        )}
      </Loaded>
      <TablePanel
        title={t('cash.deposits')}
        query={deposits}
        none={t('cash.none')}
        columns={depositColumns(setOpened)}
      />
      <TablePanel
        title={t('cash.counts')}
        query={counts}
        none={t('cash.none')}
        columns={countColumns(setOpened)}
      />
      <TablePanel
        title={t('cash.settlements')}
        query={settlements}
        none={t('cash.none')}
        columns={settlementColumns(setOpened)}
      />
      {opened && <OpenedDialog opened={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function holderColumns(open: (opened: Opened) => void): Column<Holder>[] {
  const isConfirming = may('cash:confirm');
  const ownId = currentSession()?.user.id;
  return [
    {
      name: 'holder',
      label: t('cash.holder'),
      show: ({ holder, active, isAboveCeiling }) => (
        <>
          {holder} {!active && <Badge tone="warning">{t('cash.left')}</Badge>}
          {isAboveCeiling && <Badge tone="warning">{t('cash.aboveCeiling')}</Badge>}
        </>
      ),
    },
    {
      name: 'inHand',
      label: t('cash.inHand'),
      isNumber: true,
      onPhone: 'value',
      show: ({ inHand, isStarted, holderId }) => {
        if (holderId === ownId) return t('cash.own');
        return inHand === null || !isStarted ? t('cash.notStarted') : format.money(inHand);
      },
    },
    {
      name: 'uncounted',
      label: t('cash.uncounted'),
      isNumber: true,
      show: ({ uncounted }) => (uncounted === null ? null : format.money(uncounted)),
    },
    {
      name: 'lastCountedAt',
      label: t('cash.last'),
      show: ({ lastCountedAt }) => (lastCountedAt === null ? null : format.relativeTime(lastCountedAt)),
    },
    moneyColumn('openDifference', t('cash.openDifference'), ({ openDifference }) => openDifference, {
      onPhone: 'detail',
    }),
    {
      name: 'actions',
      label: '',
      onPhone: 'plain',
      show: (holder) =>
        isConfirming &&
        holder.holderId !== ownId && (
          <>
            {holder.openDifference !== 0 && holder.active && (
              <Button kind="quiet" onClick={() => open({ what: 'settle', holder })}>
                {t('cash.settle')}
              </Button>
            )}
            {!holder.active && (
              <Button kind="quiet" onClick={() => open({ what: 'close', holder })}>
                {t('cash.close')}
              </Button>
            )}
          </>
        ),
    },
  ];
}

function depositColumns(open: (opened: Opened) => void): Column<Handover>[] {
  return [
    { name: 'from', label: t('cash.holder'), show: ({ from }) => from },
    {
      name: 'slipNumber',
      label: t('cash.slip'),
      onPhone: 'plain',
      show: ({ slipNumber }) => slipNumber,
    },
    moneyColumn<Handover>('amount', t('field.amount'), ({ amount }) => amount ?? 0),
    {
      name: 'actions',
      label: '',
      onPhone: 'plain',
      show: (handover) =>
        handover.mayDecide && (
          <>
            <Button onClick={() => open({ what: 'confirm', handover })}>{t('cash.confirm')}</Button>
            <Button kind="quiet" onClick={() => open({ what: 'reject', handover })}>
              {t('cash.reject')}
            </Button>
          </>
        ),
    },
  ];
}

function countColumns(open: (opened: Opened) => void): Column<Count>[] {
  return [
    { name: 'holder', label: t('cash.holder'), show: ({ holder }) => holder },
    moneyColumn<Count>('counted', t('cash.counted'), ({ counted }) => counted),
    moneyColumn<Count>('expected', t('cash.expected'), ({ expected }) => expected, { onPhone: 'detail' }),
    moneyColumn<Count>('difference', t('cash.difference'), ({ difference }) => difference, {
      onPhone: 'detail',
    }),
    {
      name: 'actions',
      label: '',
      onPhone: 'plain',
      show: (count) =>
        count.mayConfirm && (
          <Button onClick={() => open({ what: 'opening', count })}>{t('cash.confirm')}</Button>
        ),
    },
  ];
}

function settlementColumns(open: (opened: Opened) => void): Column<Settlement>[] {
  return [
    { name: 'holder', label: t('cash.holder'), show: ({ holder }) => holder },
    {
      name: 'kind',
      label: t('cash.difference'),
      onPhone: 'plain',
      show: ({ kind, reason }) =>
        `${kind === 'closing' ? t('cash.kind.closing') : t('cash.kind.difference')}: ${reason}`,
    },
    moneyColumn<Settlement>('amount', t('field.amount'), ({ amount, counted }) => amount ?? counted ?? 0),
    {
      name: 'actions',
      label: '',
      onPhone: 'plain',
      show: (settlement) => (
        <>
          {settlement.mayConfirm && (
            <Button onClick={() => open({ what: 'decide', settlement })}>{t('cash.confirm')}</Button>
          )}
          {settlement.mayReject && (
            <Button kind="quiet" onClick={() => open({ what: 'refuse', settlement })}>
              {t('cash.reject')}
            </Button>
          )}
        </>
      ),
    },
  ];
}

function OpenedDialog({ opened, onClose }: { opened: Opened; onClose(): void }) {
  switch (opened.what) {
    case 'settle':
    case 'close':
      return <SettlementDialog {...opened} onClose={onClose} />;
    case 'opening':
      return <OpeningDialog count={opened.count} onClose={onClose} />;
    case 'confirm':
      return <DepositDialog handover={opened.handover} onClose={onClose} />;
    case 'reject':
      return <RejectDepositDialog handover={opened.handover} onClose={onClose} />;
    case 'decide':
      return <DecideDialog settlement={opened.settlement} onClose={onClose} />;
    case 'refuse':
      return <RefuseDialog settlement={opened.settlement} onClose={onClose} />;
  }
}

function SettlementDialog({
  what,
  holder,
  onClose,
}: {
  what: 'settle' | 'close';
  holder: Holder;
  onClose(): void;
}) {
  const request = useWrite('post', '/api/cash/settlements');
  const isClosing = what === 'close';
  const { holderId, paymentMethodId, openDifference } = holder;
  return (
    <FormDialog
      title={`${isClosing ? t('cash.close') : t('cash.settle')}: ${holder.holder}`}
      lead={isClosing ? t('cash.close.lead') : `${format.money(openDifference)}. ${t('cash.settle.lead')}`}
      write={request}
      submit={isClosing ? t('cash.close') : t('cash.settle')}
      done={t('cash.settlement.sent')}
      onClose={onClose}
      onSubmit={(values) =>
        request.send({
          body: {
            holderId,
            paymentMethodId,
            reason: values.text('reason'),
            ...(isClosing
              ? { kind: 'closing', counted: values.number('counted') }
              : { kind: 'difference', amount: openDifference }),
          },
        })
      }
    >
      {isClosing && <AmountField label={t('cash.counted')} name="counted" required isFirst />}
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst={!isClosing} />
    </FormDialog>
  );
}

function OpeningDialog({ count, onClose }: { count: Count; onClose(): void }) {
  const confirm = useWrite('post', '/api/cash/counts/{id}/confirm');
  return (
    <FormDialog
      title={t('cash.opening', { name: count.holder })}
      lead={t('cash.opening.lead', {
        counted: format.money(count.counted),
        expected: format.money(count.expected),
      })}
      write={confirm}
      submit={t('cash.confirm')}
      done={t('cash.confirmed')}
      onClose={onClose}
      onSubmit={(values) =>
        confirm.send({
          params: { path: { id: count.id } },
          body: { isEarlierCash: values.isChecked('isEarlierCash') },
        })
      }
    >
      <CheckField label={t('cash.isEarlier')} name="isEarlierCash" />
    </FormDialog>
  );
}

function DepositDialog({ handover, onClose }: { handover: Handover; onClose(): void }) {
  const confirm = useWrite('post', '/api/cash/hand-overs/{id}/confirm');
  return (
    <FormDialog
      title={t('cash.deposit', { name: handover.from })}
      lead={`${format.money(handover.amount ?? 0)}, ${t('cash.theBank', { slip: handover.slipNumber ?? '' })}`}
      write={confirm}
      submit={t('cash.confirm')}
      done={t('cash.confirmed')}
      onClose={onClose}
      onSubmit={(values) =>
        confirm.send({
          params: { path: { id: handover.id } },
          body: {
            statementDate: values.text('statementDate'),
            statementText: values.text('statementText'),
          },
        })
      }
    >
      <DateField label={t('cash.statementDate')} name="statementDate" required isFirst />
      <TextField
        label={t('cash.statementText')}
        name="statementText"
        maxLength={200}
        autoComplete="off"
        required
      />
    </FormDialog>
  );
}

function RejectDepositDialog({ handover, onClose }: { handover: Handover; onClose(): void }) {
  const reject = useWrite('post', '/api/cash/hand-overs/{id}/reject');
  return (
    <FormDialog
      title={t('cash.deposit', { name: handover.from })}
      lead={`${format.money(handover.amount ?? 0)}, ${t('cash.theBank', { slip: handover.slipNumber ?? '' })}`}
      write={reject}
      submit={t('cash.reject')}
      kind="danger"
      done={t('cash.rejected')}
      onClose={onClose}
      onSubmit={(values) =>
        reject.send({ params: { path: { id: handover.id } }, body: { reason: values.text('reason') } })
      }
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}

function leadOf({ amount, counted, requestedBy, reason }: Settlement): string {
  return `${format.money(amount ?? counted ?? 0)}. ${requestedBy}: ${reason}`;
}

function DecideDialog({ settlement, onClose }: { settlement: Settlement; onClose(): void }) {
  const confirm = useWrite('post', '/api/cash/settlements/{id}/confirm');
  return (
    <FormDialog
      title={`${settlement.kind === 'closing' ? t('cash.close') : t('cash.settle')}: ${settlement.holder}`}
      lead={leadOf(settlement)}
      write={confirm}
      submit={t('cash.confirm')}
      done={t('cash.confirmed')}
      onClose={onClose}
      onSubmit={() => confirm.send({ params: { path: { id: settlement.id } } })}
    />
  );
}

function RefuseDialog({ settlement, onClose }: { settlement: Settlement; onClose(): void }) {
  const reject = useWrite('post', '/api/cash/settlements/{id}/reject');
  return (
    <FormDialog
      title={settlement.holder}
      lead={leadOf(settlement)}
      write={reject}
      submit={t('cash.reject')}
      kind="danger"
      done={t('cash.rejected')}
      onClose={onClose}
      onSubmit={(values) =>
        reject.send({ params: { path: { id: settlement.id } }, body: { reason: values.text('reason') } })
      }
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}
