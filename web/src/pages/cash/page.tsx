import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Empty, Loaded, Notice } from '../../ui/feedback.tsx';
import { AmountField, SelectField, TextAreaField, TextField } from '../../ui/form.tsx';
import { Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

type Own = Schemas['OwnCash'];
type Method = Own['methods'][number];
type Handover = Schemas['CashHandover'];
/** The open dialog, and the row that it is about. */
type Opened =
  | { what: 'count' | 'explain' | 'person' | 'bank'; method: Method }
  | { what: 'receive' | 'withdraw'; handover: Handover };

/** The cash of the user: count, hand over, receive. Does not show what is expected before a count is saved. */
export function Page() {
  const own = api.useQuery('get', '/api/cash/own');
  const [opened, setOpened] = useState<Opened>();
  return (
    <>
      <PageHead title={t('nav.cash')} />
      <Loaded query={own} explain={explain}>
        {({ data }) => (
          <>
            {data.toReceive.length > 0 && (
              <Panel title={t('cash.toReceive')}>
                <ul className="rows">
                  {data.toReceive.map((handover) => (
                    <li key={handover.id}>
                      <span>{t('cash.receive.title', { name: handover.from })}</span>
                      <Button onClick={() => setOpened({ what: 'receive', handover })}>
                        {t('cash.receive')}
                      </Button>
                    </li>
                  ))}
                </ul>
              </Panel>
            )}
            {data.methods.map((method) => (
              <MethodPanel key={method.paymentMethodId} method={method} onOpen={setOpened} />
            ))}
            <Panel title={t('cash.mine')}>
              {data.handedOver.length === 0 && <Empty>{t('cash.none')}</Empty>}
              <ul className="rows">
                {data.handedOver.map((handover) => (
                  <li key={handover.id}>
                    <span>
                      {handover.to ?? t('cash.theBank', { slip: handover.slipNumber ?? '' })}
                      {handover.amount !== null && `: ${format.money(handover.amount)}`}
                    </span>
                    {handover.status === 'pending' ? (
                      <Button kind="quiet" onClick={() => setOpened({ what: 'withdraw', handover })}>
                        {t('cash.withdraw')}
                      </Button>
                    ) : (
                      <Badge tone="warning">{tValue('cashHandoverStatus', handover.status)}</Badge>
                    )}
                  </li>
                ))}
              </ul>
            </Panel>
            {opened && <OpenedDialog opened={opened} own={data} onClose={() => setOpened(undefined)} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function MethodPanel({ method, onOpen }: { method: Method; onOpen(opened: Opened): void }) {
  const { openCount, lastCounted, lastCountedAt, openDifference } = method;
  return (
    <Panel title={method.paymentMethod}>
      {method.isAboveCeiling && <Notice tone="warning" title={t('cash.aboveCeiling')} />}
      {openCount && (
        <Notice tone="warning" title={t('cash.open.title')}>
          {openCount.isOpening ? (
            t('cash.open.opening')
          ) : (
            <>
              <p>
                {t('cash.open.reason', {
                  counted: format.money(openCount.counted),
                  expected: format.money(openCount.expected),
                })}
              </p>
              <Button onClick={() => onOpen({ what: 'explain', method })}>{t('cash.explain')}</Button>
            </>
          )}
        </Notice>
      )}
      <Facts
        rows={[
          [
            t('cash.last'),
            lastCounted === null || lastCountedAt === null
              ? t('cash.last.none')
              : `${format.money(lastCounted)}, ${format.dateTime(lastCountedAt)}`,
          ],
          [t('cash.openDifference'), openDifference === 0 ? null : format.money(openDifference)],
        ]}
      />
      <Actions>
        {!openCount && (
          <Button kind="primary" onClick={() => onOpen({ what: 'count', method })}>
            {t('cash.count')}
          </Button>
        )}
        {method.isStarted && (
          <>
            <Button onClick={() => onOpen({ what: 'person', method })}>{t('cash.handOver')}</Button>
            <Button onClick={() => onOpen({ what: 'bank', method })}>{t('cash.bank')}</Button>
          </>
        )}
      </Actions>
    </Panel>
  );
}

function OpenedDialog({ opened, own, onClose }: { opened: Opened; own: Own; onClose(): void }) {
  switch (opened.what) {
    case 'count':
      return <CountDialog method={opened.method} onClose={onClose} />;
    case 'explain':
      return <ExplainDialog method={opened.method} onClose={onClose} />;
    case 'person':
    case 'bank':
      return <HandOverDialog what={opened.what} method={opened.method} own={own} onClose={onClose} />;
    case 'receive':
      return <ReceiveDialog handover={opened.handover} onClose={onClose} />;
    case 'withdraw':
      return <WithdrawDialog handover={opened.handover} onClose={onClose} />;
  }
}

function CountDialog({ method, onClose }: { method: Method; onClose(): void }) {
  const count = useWrite('post', '/api/cash/counts');
  return (
    <FormDialog
      title={t('cash.count')}
      lead={t('cash.count.lead')}
      write={count}
      submit={t('cash.save')}
      done={t('cash.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        count.send({
          body: { paymentMethodId: method.paymentMethodId, counted: values.number('counted') },
        })
      }
    >
      <AmountField label={t('cash.counted')} name="counted" required isFirst />
    </FormDialog>
  );
}

function ExplainDialog({ method: { openCount }, onClose }: { method: Method; onClose(): void }) {
  const explainCount = useWrite('post', '/api/cash/counts/{id}/explain');
  if (!openCount) return null;
  return (
    <FormDialog
      title={t('cash.explain')}
      lead={`${t('cash.difference')}: ${format.money(openCount.difference)}`}
      write={explainCount}
      submit={t('action.save')}
      done={t('cash.closed')}
      onClose={onClose}
      onSubmit={(values) =>
        explainCount.send({
          params: { path: { id: openCount.id } },
          body: { reason: values.text('reason') },
        })
      }
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}

interface HandOverProps {
  what: 'person' | 'bank';
  method: Method;
  own: Own;
  onClose(): void;
}

function HandOverDialog({ what, method: { paymentMethodId }, own, onClose }: HandOverProps) {
  const start = useWrite('post', '/api/cash/hand-overs');
  const isToBank = what === 'bank';
  const receivers = own.receivers.filter((receiver) => receiver.paymentMethodId === paymentMethodId);
  return (
    <FormDialog
      title={isToBank ? t('cash.bank') : t('cash.handOver')}
      lead={isToBank ? t('cash.bank.lead') : t('cash.handOver.lead')}
      write={start}
      submit={isToBank ? t('cash.bank') : t('cash.handOver')}
      done={isToBank ? t('cash.deposited') : t('cash.started')}
      onClose={onClose}
      onSubmit={(values) =>
        start.send({
          body: {
            paymentMethodId,
            amount: values.number('amount'),
            ...(isToBank
              ? { slipNumber: values.text('slipNumber') }
              : { toUserId: values.number('toUserId') }),
          },
        })
      }
    >
      {isToBank ? (
        <TextField
          label={t('cash.slip')}
          name="slipNumber"
          maxLength={50}
          autoComplete="off"
          required
          isFirst
        />
      ) : (
        <SelectField
          label={t('cash.receiver')}
          name="toUserId"
          defaultValue=""
          hint={receivers.length === 0 && t('cash.receiver.none')}
          required
          isFirst
        >
          <option value="" disabled hidden />
          {receivers.map(({ userId, name }) => (
            <option key={userId} value={userId}>
              {name}
            </option>
          ))}
        </SelectField>
      )}
      <AmountField label={t('field.amount')} name="amount" required />
    </FormDialog>
  );
}

function ReceiveDialog({ handover, onClose }: { handover: Handover; onClose(): void }) {
  const receive = useWrite('post', '/api/cash/hand-overs/{id}/receive');
  return (
    <FormDialog
      title={t('cash.receive.title', { name: handover.from })}
      lead={t('cash.receive.lead')}
      write={receive}
      submit={t('cash.receive')}
      onClose={onClose}
      onSubmit={(values) =>
        receive.send({
          params: { path: { id: handover.id } },
          body: { counted: values.number('counted') },
        })
      }
      done={(answer) => (answer.status === 'received' ? t('cash.received') : t('cash.unequal'))}
    >
      <AmountField label={t('cash.counted')} name="counted" required isFirst />
    </FormDialog>
  );
}

function WithdrawDialog({ handover, onClose }: { handover: Handover; onClose(): void }) {
  const withdraw = useWrite('post', '/api/cash/hand-overs/{id}/withdraw');
  return (
    <FormDialog
      title={t('cash.withdraw.title')}
      lead={handover.to ?? ''}
      write={withdraw}
      submit={t('cash.withdraw')}
      kind="danger"
      done={t('cash.withdrawn')}
      onClose={onClose}
      onSubmit={() => withdraw.send({ params: { path: { id: handover.id } } })}
    />
  );
}
