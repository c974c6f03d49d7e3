import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { currentSession, may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded, Notice } from '../../ui/feedback.tsx';
import { AmountField, DateField, Form, FormButtons, SelectField, TextAreaField } from '../../ui/form.tsx';
import { Columns, Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { CloseDisputeButton, HideNoteButton } from './reason-dialogs.tsx';

type CallForm = Schemas['CallForm'];
type FormAccount = CallForm['accounts'][number];
type Result = Schemas['CallResult'];

const RENEW_MS = 5 * 60_000;
const RESULTS: readonly Result[] = ['no_answer', 'wrong_number', 'reached', 'promise', 'dispute', 'other'];

/** What a user needs while calling the customer of an account, and the form for the result. */
export function Page({ id }: { id: string }) {
  const accountId = Number(id);
  const form = api.useQuery('get', '/api/call-list/{id}/form', { params: { path: { id: accountId } } });
  const lease = useLease(accountId);
  return (
    <Loaded query={form} explain={explain}>
      {({ data }) => (
        <>
          <PageHead
            eyebrow={<Link href="/call-list">{t('nav.callList')}</Link>}
            title={data.customer.name}
            tabTitle={t('nav.callList')}
          >
            {phonesOf(data).map((phone) => (
              <a key={phone} className="call" href={`tel:${phone}`}>
                {phone}
              </a>
            ))}
          </PageHead>
          {lease.isTaken && <Taken form={data} onTakeOver={lease.takeOver} />}
          {data.warnings.map(({ code }) => (
            <Notice key={code} tone="warning">
              {t(`calls.warning.${code}`)}
            </Notice>
          ))}
          <Columns
            main={
              <>
                {may('calls:record') && !lease.isTaken && <ResultForm form={data} />}
                <History form={data} />
              </>
            }
            side={<LateAccounts accounts={data.accounts} />}
          />
        </>
      )}
    </Loaded>
  );
}

const phonesOf = ({ customer: { phone, secondPhone } }: CallForm) =>
  secondPhone === null ? [phone] : [phone, secondPhone];

/** Reserves the phones of the customer while the page is open. */
function useLease(id: number) {
  const [isTaken, setIsTaken] = useState(false);
  const canCall = may('calls:record');
  const take = async (takeOver: boolean) => {
    const { response } = await client.PUT('/api/call-list/{id}/lease', {
      params: { path: { id } },
      body: { takeOver },
    });
    setIsTaken(response.status === 409);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `take` depends only on the id.
  useEffect(() => {
    if (!canCall) return;
    const renew = () => void take(false).catch(() => {}); // Without a connection, the next renewal tries again.
    renew();
    const timer = setInterval(renew, RENEW_MS);
    return () => {
      clearInterval(timer);
      void client.DELETE('/api/call-list/{id}/lease', { params: { path: { id } } }).catch(() => {}); // The reservation then ends by itself.
    };
  }, [id, canCall]);
  return { isTaken, takeOver: () => void take(true) };
}

function Taken({ form, onTakeOver }: { form: CallForm; onTakeOver(): void }) {
  const lease = form.accounts[0]?.lease;
  return (
    <Notice tone="warning" title={t('calls.inUse', { name: lease?.officer ?? '–' })}>
      {may('calls:manage') && <Button onClick={onTakeOver}>{t('calls.takeOver')}</Button>}
    </Notice>
  );
}

function LateAccounts({ accounts }: { accounts: readonly FormAccount[] }) {
  return (
    <Panel title={t('calls.lateAccounts')}>
      {accounts.map((account) => (
        <div key={account.id}>
          <Link className="mono" href={`/accounts/${account.id}`}>
            {account.accountNumber}
          </Link>
          <Facts
            rows={[
              [t('calls.days'), format.number(account.daysPastDue)],
              [t('account.arrears'), format.money(account.arrears)],
              [t('account.balance'), format.money(account.balance)],
              [
                tValue('callResult', 'promise'),
                account.promise &&
                  t('calls.promise.open', {
                    amount: format.money(account.promise.amount),
                    date: format.date(account.promise.date),
                  }),
              ],
            ]}
          />
        </div>
      ))}
    </Panel>
  );
}

function ResultForm({ form }: { form: CallForm }) {
  const record = useWrite('post', '/api/calls');
  const [, navigate] = useLocation();
  const [result, setResult] = useState<Result>();
  const [kind, setKind] = useState<Schemas['CallKind']>('call');
  const [accountId, setAccountId] = useState(form.accounts[0]?.id);
  const account = form.accounts.find(({ id }) => id === accountId);
  const needsNextCall = result === 'reached' || result === 'other';
  return (
    <Panel title={t('calls.result')}>
      <Form
        problem={record.problem}
        isSending={record.isSending}
        onStop={record.stop}
        onSubmit={async (values) => {
          if (!result || !account) return;
          record.describe(form.customer.name);
          const call = await record.send({
            body: {
              accountId: account.id,
              kind,
              result,
              ...(kind === 'call' && { phone: values.text('phone') }),
              ...(values.text('note') && { note: values.text('note') }),
              ...(needsNextCall && { nextCallOn: values.text('nextCallOn') }),
              ...(result === 'promise' && {
                promise: { amount: values.number('promise.amount'), date: values.text('promise.date') },
              }),
            },
          });
          if (!call) return;
          toast({
            text: [t('calls.saved'), ...call.warnings.map(({ code }) => t(`calls.warning.${code}`))].join(
              ' ',
            ),
          });
          // The list then still has its filters, which are in its address.
          if (history.length > 1) history.back();
          else navigate('/call-list');
        }}
      >
        {form.accounts.length > 1 && (
          <SelectField
            label={t('field.account')}
            name="accountId"
            value={accountId}
            onChange={({ target }) => setAccountId(Number(target.value))}
            required
          >
            {form.accounts.map(({ id, accountNumber }) => (
              <option key={id} value={id}>
                {accountNumber}
              </option>
            ))}
          </SelectField>
        )}
        <SelectField
          label={t('calls.kind')}
          name="kind"
          value={kind}
          onChange={({ target }) => setKind(target.value === 'visit' ? 'visit' : 'call')}
          required
        >
          <option value="call">{tValue('callKind', 'call')}</option>
          <option value="visit">{tValue('callKind', 'visit')}</option>
        </SelectField>
        {kind === 'call' && (
          <SelectField label={t('calls.phone')} name="phone" defaultValue={form.customer.phone} required>
            {phonesOf(form).map((phone) => (
              <option key={phone}>{phone}</option>
            ))}
          </SelectField>
        )}
        <fieldset className="chips">
          <legend className="visually-hidden">{t('calls.result')}</legend>
          {RESULTS.map((one) => (
            <button
              key={one}
              type="button"
              className="chip"
              aria-pressed={result === one}
              onClick={() => setResult(one)}
            >
              {tValue('callResult', one)}
            </button>
          ))}
        </fieldset>
        {result === 'promise' && account && <PromiseFields account={account} />}
        {needsNextCall && (
          <DateField
            label={t('calls.nextCall')}
            name="nextCallOn"
            min={settings().today}
            max={form.nextCallUntil}
            required
          />
        )}
        <TextAreaField label={t('calls.note')} name="note" maxLength={1000} required={result === 'dispute'} />
        {result && <FormButtons submit={t('calls.save')} />}
      </Form>
    </Panel>
  );
}

function PromiseFields({ account }: { account: FormAccount }) {
  const limits = account.promiseLimits;
  if (!limits) return <Notice tone="warning">{t('calls.promise.none')}</Notice>;
  return (
    <>
      <AmountField
        label={t('calls.promise.amount')}
        name="promise.amount"
        min={limits.minimum}
        max={limits.maximum}
        hint={t('calls.promise.hint', {
          minimum: format.money(limits.minimum),
          maximum: format.money(limits.maximum),
        })}
        required
      />
      <DateField
        label={t('calls.promise.date')}
        name="promise.date"
        min={limits.from}
        max={limits.until}
        required
      />
    </>
  );
}

function History({ form: { calls, promises } }: { form: CallForm }) {
  return (
    <Panel title={t('calls.history')}>
      {calls.length === 0 && <Empty>{t('calls.history.none')}</Empty>}
      {calls.map((call) => {
        const promise = promises.find(({ callId }) => callId === call.id);
        return (
          <Facts
            key={call.id}
            rows={[
              [
                `${format.dateTime(call.createdAt)}, ${call.officer}`,
                call.isMistake ? (
                  <span key="result">
                    <s>{tValue('callResult', call.result)}</s> {t('calls.mistake')}
                  </span>
                ) : (
                  `${tValue('callKind', call.kind)}: ${tValue('callResult', call.result)}`
                ),
              ],
              [
                call.accountNumber,
                call.note && (
                  <span key="note" className="note-text">
                    {call.note}
                  </span>
                ),
              ],
              [
                t('calls.note'),
                call.noteHiddenReason && (
                  <span key="hidden" className="note-text muted">
                    {t('calls.noteHidden', { name: call.noteHiddenBy ?? '', reason: call.noteHiddenReason })}
                  </span>
                ),
              ],
              [
                tValue('callResult', 'promise'),
                promise &&
                  `${format.money(promise.amount)}, ${format.date(promise.date)}: ${tValue('promiseState', promise.state)}`,
              ],
              [t('calls.nextCall'), call.nextCallOn && format.date(call.nextCallOn)],
              [
                tValue('callResult', 'dispute'),
                call.disputeClosedReason && (
                  <span key="closed" className="note-text">
                    {t('calls.disputeClosed', { reason: call.disputeClosedReason })}
                  </span>
                ),
              ],
              ['', <CallActions key="actions" call={call} />],
            ]}
          />
        );
      })}
    </Panel>
  );
}

function CallActions({ call }: { call: Schemas['Call'] }) {
  const mark = useWrite('post', '/api/calls/{id}/mark-mistake');
  const isOwn = call.userId === currentSession()?.user.id && call.date === settings().today;
  const manages = may('calls:manage');
  return (
    <>
      {isOwn && !call.isMistake && (
        <Button
          isBusy={mark.isSending}
          onClick={async () => {
            mark.describe(t('calls.markMistake'));
            await mark.send({ params: { path: { id: call.id } } });
          }}
        >
          {t('calls.markMistake')}
        </Button>
      )}
      {mark.problem && <Notice tone="bad">{mark.problem.message}</Notice>}
      {call.result === 'dispute' && call.disputeClosedAt === null && !call.isMistake && manages && (
        <CloseDisputeButton id={call.id} />
      )}
      {call.note !== null && manages && <HideNoteButton id={call.id} />}
    </>
  );
}
