import { useLayoutEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { AmountField, DateField, type FormValues, TextField, useForgetProblems } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

interface InvoiceDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

/** Issues an invoice for the account. Its first item is the product. */
export function InvoiceDialog({ account, onClose }: InvoiceDialogProps) {
  const issue = useWrite('post', '/api/invoices');
  /** The keys of the items. A key is never used again, so the fields of an item keep their values when another item is removed. */
  const [keys, setKeys] = useState([0]);
  const items = useRef<HTMLDivElement>(null);
  const shownKeys = useRef(keys);
  // A new item gets the focus. The button that removes an item disappears with the item, so the last one gets it.
  useLayoutEffect(() => {
    if (shownKeys.current === keys) return;
    shownKeys.current = keys;
    items.current?.querySelector<HTMLElement>(':scope > :last-child input')?.focus();
  }, [keys]);
  const { customer, product, accountNumber } = account;
  return (
    <FormDialog
      title={t('account.invoice.new')}
      lead={t('account.pay.to', { name: customer?.name ?? '', number: accountNumber })}
      write={issue}
      submit={t('account.invoice.submit')}
      done={({ number }: Schemas['Invoice']) => t('account.invoice.issued', { number })}
      onClose={onClose}
      onSubmit={(values) => {
        const dueDate = values.optional('dueDate');
        return issue.send({
          body: {
            accountId: account.id,
            items: keys.map((_, at) => readItem(values, at)),
            ...(dueDate !== undefined && { dueDate }),
          },
        });
      }}
    >
      <p className="muted">{t('account.invoice.text')}</p>
      <div ref={items} className="form-fields">
        {keys.map((key, at) => (
          <Item
            key={key}
            at={at}
            description={key === 0 ? product?.name : undefined}
            onRemove={keys.length > 1 ? () => setKeys(keys.filter((other) => other !== key)) : undefined}
          />
        ))}
      </div>
      <Button icon="plus" onClick={() => setKeys([...keys, Math.max(...keys) + 1])}>
        {t('account.invoice.add')}
      </Button>
      <DateField label={t('invoice.dueDate')} name="dueDate" min={settings().today} max="2999-12-31" />
    </FormDialog>
  );
}

interface ItemProps {
  /** The place in the list of items. */
  at: number;
  description: string | undefined;
  /** Undefined for the only item. */
  onRemove: (() => void) | undefined;
}

function Item({ at, description, onRemove }: ItemProps) {
  const number = at + 1;
  const forget = useForgetProblems();
  return (
    <fieldset className="form-fields">
      <legend className="muted">{t('account.invoice.item', { number })}</legend>
      <TextField
        label={t('field.description')}
        name={`items[${at}].description`}
        maxLength={500}
        defaultValue={description}
        required
      />
      <TextField
        label={t('invoice.quantity')}
        name={`items[${at}].quantity`}
        type="number"
        inputMode="decimal"
        min="0.001"
        step="0.001"
        autoComplete="off"
        defaultValue="1"
        required
      />
      <AmountField
        label={t('invoice.unitPrice')}
        name={`items[${at}].unitPrice`}
        required
        isFirst={at === 0}
      />
      {onRemove && (
        <Button
          kind="quiet"
          onClick={() => {
            forget('items'); // The later items move to the places of others.
            onRemove();
          }}
        >
          {t('account.invoice.remove', { number })}
        </Button>
      )}
    </fieldset>
  );
}

function readItem(values: FormValues, at: number): Schemas['NewInvoice']['items'][number] {
  return {
    description: values.text(`items[${at}].description`),
    quantity: values.number(`items[${at}].quantity`),
    unitPrice: values.number(`items[${at}].unitPrice`),
  };
}
