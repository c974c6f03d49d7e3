import { type MouseEvent, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { useWrite, type Write } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { AmountField, DateField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { keepLastMethod, lastMethod } from '../shared/last-method.ts';
import { PaymentMethodField, ReferenceField, useRecordableMethods } from '../shared/payment-fields.tsx';
import { printReceipt } from '../shared/receipt.ts';

interface PaymentDialogProps {
  account: Schemas['Account'];
  ofToday: Schemas['Quote'];
  /** Whether the form starts with the amount that pays everything off. */
  isPayoff: boolean;
  onClose(): void;
}

export function PaymentDialog({ account, ofToday, isPayoff, onClose }: PaymentDialogProps) {
  const isAboveCeiling = useRef(false);
  const record = useWrite('post', '/api/payments', {
    onAnswer: ({ warnings }) => {
      isAboveCeiling.current = warnings.some(({ code }) => code === 'cash_above_ceiling');
    },
  });
  const { today } = settings();
  const { methods, earliest } = useRecordableMethods();
  const last = methods.some(({ id }) => String(id) === lastMethod()) ? lastMethod() : '';
  const [date, setDate] = useState(today);
  const amounts = useAmounts(ofToday, date);
  // A chosen amount follows the date until the user types another one.
  const [chosen, setChosen] = useState<Suggestion | undefined>(isPayoff ? 'all' : undefined);
  const [typed, setTyped] = useState('');
  const amount = chosen ? amounts?.[chosen] || '' : typed;
  const { found, confirm, bodyOf } = useConfirmation(record);
  return (
    <FormDialog
      title={t('account.pay.title')}
      lead={t('account.pay.to', { name: account.customer?.name ?? '', number: account.accountNumber })}
      write={found ? { ...record, problem: undefined } : record}
      submit={t('account.recordPayment')}
      onClose={onClose}
      onSubmit={(values) =>
        record.send({
          body: bodyOf({
            accountId: account.id,
            amount: values.number('amount'),
            paymentMethodId: values.number('paymentMethodId'),
            paymentDate: values.text('paymentDate'),
            transactionRef: values.optional('transactionRef') ?? null,
          }),
        })
      }
      onDone={(payment) => {
        keepLastMethod(payment.paymentMethodId);
        toast({
          text: [
            t('account.pay.done', { amount: format.money(payment.amount) }),
            ...(isAboveCeiling.current ? [t('account.pay.unusual.cash_above_ceiling')] : []),
          ].join(' '),
          action: { label: t('receipt.print'), run: () => void printReceipt(payment.id, 'roll') },
          seconds: 15,
        });
        onClose();
      }}
    >
      <AmountField
        label={t('field.amount')}
        name="amount"
        min={format.smallestAmount()}
        value={amount}
        onChange={(event) => {
          setChosen(undefined);
          setTyped(event.target.value);
        }}
        hint={amounts && <Suggestions amounts={amounts} onChoose={setChosen} />}
        required
        isFirst
      />
      <PaymentMethodField defaultValue={last} />
      <ReferenceField />
      <DateField
        label={t('account.pay.date')}
        name="paymentDate"
        defaultValue={today}
        min={earliest}
        max={today}
        onChange={(event) => setDate(event.target.value)}
        required
      />
      {found && <UnusualNotice found={found} onConfirm={confirm} />}
    </FormDialog>
  );
}

const SUGGESTIONS = ['due', 'next', 'all'] as const;
type Suggestion = (typeof SUGGESTIONS)[number];
type Amounts = Record<Suggestion, number>;

/** The amounts that customers often pay, by the day of the payment. Undefined until they are known. */
function useAmounts(ofToday: Schemas['Quote'], date: string): Amounts | undefined {
  const isOther = date !== '' && date !== ofToday.date;
  const other = api.useQuery(
    'get',
    '/api/accounts/{id}/quote',
    { params: { path: { id: ofToday.accountId }, query: { date } } },
    { enabled: isOther },
  );
  const quote = isOther ? other.data?.data : ofToday;
  return (
    quote && {
      due: quote.amountDue,
      next: quote.nextDueAmount ?? 0,
      // With later money, a payment can earn the payoff of another day.
      all: quote.noEarlyPayoff === 'later_entries' ? 0 : (quote.earlyPayoff?.amount ?? quote.settlement),
    }
  );
}

function Suggestions({ amounts, onChoose }: { amounts: Amounts; onChoose(chosen: Suggestion): void }) {
  const shown = SUGGESTIONS.filter(
    (key, at) => amounts[key] > 0 && SUGGESTIONS.findIndex((other) => amounts[other] === amounts[key]) === at,
  );
  return (
    <span className="chips">
      {shown.map((key) => (
        <button key={key} type="button" className="chip" onClick={() => onChoose(key)}>
          {t(`account.pay.suggest.${key}`, { amount: format.money(amounts[key]) })}
        </button>
      ))}
    </span>
  );
}

type NewPayment = Schemas['NewPayment'];

/** Why the service did not record a payment yet, and the payment for which it asked. */
interface Found {
  warnings: Schemas['PaymentWarning'][];
  balance: number;
  credit: number;
  asked: NewPayment;
}

/**
 * The first request asks for checks. If the service finds something unusual, `found` is shown, and only `confirm` sends the payment
 * with a confirmation. The submit button, and so the key Enter, always ask again. A payment that was edited in between is new.
 */
function useConfirmation(record: Pick<Write<never, unknown>, 'isSending' | 'problem'>) {
  const asked = useRef<NewPayment>(undefined);
  const isConfirming = useRef(false);
  const [answer, setAnswer] = useState<Readonly<Record<string, unknown>>>();
  const details = record.problem?.details;
  const latest = details?.warnings && asked.current ? details : undefined;
  // While a request runs, the notice stays, so that its button keeps the focus.
  if (!record.isSending && latest !== answer) setAnswer(latest);
  const found = answer && ({ ...answer, asked: asked.current } as Found);
  return {
    found,
    bodyOf: (payment: NewPayment): NewPayment => {
      const isSame = JSON.stringify(payment) === JSON.stringify(asked.current);
      asked.current = payment;
      return {
        ...payment,
        checks: 'confirm',
        ...(found && isSame && isConfirming.current && { confirmation: confirmationOf(found) }),
      };
    },
    confirm: (form: HTMLFormElement | null) => {
      isConfirming.current = true;
      form?.requestSubmit();
      isConfirming.current = false;
    },
  };
}

function confirmationOf({ warnings, balance, credit }: Found) {
  return { codes: warnings.map(({ code }) => code), balance, credit };
}

function UnusualNotice({
  found: { warnings, balance, asked },
  onConfirm,
}: {
  found: Found;
  onConfirm(form: HTMLFormElement | null): void;
}) {
  const facts = {
    amount: format.money(asked.amount),
    balance: format.money(balance),
    date: format.date(asked.paymentDate ?? settings().today),
  };
  return (
    <Notice tone="warning" title={t('account.pay.unusual')}>
      {warnings.map(({ code, paymentIds }) => (
        <p key={code}>
          {`${t(`account.pay.unusual.${code}`, facts)} `}
          {paymentIds.map((id) => (
            // In another tab, so that the dialog stays open.
            <a key={id} href={`/payments/${id}`} target="_blank" rel="noreferrer">
              {`${t('account.pay.unusual.payment', { id: String(id) })} `}
            </a>
          ))}
        </p>
      ))}
      <Button
        kind="danger"
        onClick={(event: MouseEvent<HTMLButtonElement>) => onConfirm(event.currentTarget.form)}
      >
        {t('account.pay.confirm')}
      </Button>
    </Notice>
  );
}
