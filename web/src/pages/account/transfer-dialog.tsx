import { useState } from 'react';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/form.tsx';
import { useAccountSearch } from '../shared/account-search.ts';
import { outcomeOf, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';
import { CreditAmountField } from './credit-amount-field.tsx';

interface TransferDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

/** Transfers credit to another account, which the user searches for. */
export function TransferDialog({ account, onClose }: TransferDialogProps) {
  const transfer = useWrite('post', '/api/accounts/{id}/credit/transfer');
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState('');
  const search = useAccountSearch(text);
  const found = search.found.filter(({ accountId }) => accountId !== account.id);
  const isFound = found.some(({ accountId }) => String(accountId) === chosen);
  return (
    <FormDialog
      title={t('account.transfer')}
      lead={withApprovalHint(t('account.transfer.text'), account.credit)}
      write={transfer}
      submit={t('account.transfer')}
      onClose={onClose}
      onSubmit={(values) =>
        transfer.send({
          params: { path: { id: account.id } },
          body: {
            toAccountId: values.number('toAccountId'),
            amount: values.number('amount'),
            reason: values.text('reason'),
          },
        })
      }
      done={(answer) => outcomeOf(answer, t('account.transfer.done'))}
    >
      <TextField
        label={t('account.transfer.find')}
        name="find"
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={100}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          // Enter would send the form.
          if (event.key === 'Enter') event.preventDefault();
        }}
        hint={hintOf()}
        required
        isFirst
      />
      <SelectField
        label={t('account.transfer.to')}
        name="toAccountId"
        // Empty if the search no longer finds the chosen account, so that the browser does not select another account.
        value={isFound ? chosen : ''}
        onChange={(event) => setChosen(event.target.value)}
        required
      >
        <option value="" disabled hidden />
        {found.map(({ accountId, accountNumber, customerName }) => (
          <option key={accountId} value={accountId}>
            {`${customerName} · ${accountNumber}`}
          </option>
        ))}
      </SelectField>
      <CreditAmountField credit={account.credit} />
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required />
    </FormDialog>
  );

  function hintOf() {
    if (search.error) return <span role="alert">{explain(search.error)}</span>;
    if (!search.isOn) return t('find.short');
    if (search.isLoading) return undefined;
    return <span role="status">{found.length === 0 ? t('find.none') : t('account.transfer.choose')}</span>;
  }
}
