import type { Schemas } from '../../api/paths.ts';
import { t } from '../../i18n/index.ts';
import { CheckField, type FormValues, TextAreaField, TextField } from '../../ui/form.tsx';

/** The fields of a webhook endpoint that can be changed. */
export function EndpointFields({ endpoint }: { endpoint?: Schemas['WebhookEndpoint'] }) {
  return (
    <>
      <TextField
        label={t('webhooks.url')}
        name="url"
        type="url"
        maxLength={2000}
        defaultValue={endpoint?.url}
        spellCheck={false}
        required
        isFirst
      />
      <TextAreaField
        label={t('webhooks.types')}
        name="types"
        hint={t('webhooks.types.hint')}
        defaultValue={endpoint?.types.join('\n') ?? '*'}
        spellCheck={false}
        required
      />
      <TextField
        label={t('field.description')}
        name="description"
        maxLength={200}
        defaultValue={endpoint?.description ?? ''}
      />
      <CheckField label={t('webhooks.inOrder')} name="inOrder" defaultChecked={endpoint?.inOrder ?? false} />
    </>
  );
}

export function readEndpoint(values: FormValues) {
  return {
    url: values.text('url'),
    types: values.lines('types') as Schemas['NewWebhookEndpoint']['types'],
    description: values.optional('description') ?? null,
    inOrder: values.isChecked('inOrder'),
  };
}
