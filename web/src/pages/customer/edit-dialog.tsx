import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { TextField } from '../../ui/form.tsx';
import { CustomerTextFields, changedTexts, LanguageField } from '../shared/customer-fields.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { NameFields } from '../shared/name-fields.tsx';

interface EditDialogProps {
  customer: Schemas['Customer'];
  etag: string;
  onClose(): void;
}

export function EditDialog({ customer, etag, onClose }: EditDialogProps) {
  const change = useWrite('put', '/api/customers/{id}');
  return (
    <FormDialog
      title={t('customer.edit')}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: customer.id }, header: { 'If-Match': etag } },
          body: {
            firstName: values.text('firstName'),
            lastName: values.text('lastName'),
            phone: values.text('phone'),
            ...changedTexts(values),
            language: (values.optional('language') ?? null) as Schemas['Customer']['language'],
            externalId: values.optional('externalId') ?? null,
          },
        })
      }
    >
      <NameFields person={customer} />
      <TextField
        label={t('field.phone')}
        name="phone"
        type="tel"
        maxLength={30}
        defaultValue={customer.phone}
        required
      />
      <CustomerTextFields values={customer} />
      <LanguageField defaultValue={customer.language} />
      <TextField
        label={t('field.externalId')}
        name="externalId"
        maxLength={100}
        defaultValue={customer.externalId ?? ''}
      />
    </FormDialog>
  );
}
