import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, nameOfKey, t } from '../../i18n/index.ts';
import { TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { CATEGORIES_ID, Categories } from '../shared/categories.tsx';
import { createdColumn } from '../shared/columns.tsx';
import { CommissionTabs } from '../shared/commission-tabs.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true });
  const rules = api.useQuery('get', '/api/commissions/rules', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Schemas['CommissionRule']>[] = [
    {
      name: 'category',
      label: t('field.category'),
      canSort: true,
      show: ({ category }) => (category === null ? t('commissionRules.others') : nameOfKey(category)),
    },
    { name: 'version', label: t('commissionRules.version'), isNumber: true, show: ({ version }) => version },
    {
      name: 'rateBasisPoints',
      label: t('commissionRules.rate'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ rateBasisPoints }) => format.rate(rateBasisPoints),
    },
    createdColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.commissions')}
      list={list}
      query={rules}
      columns={columns}
      permission="commission-rules:write"
      create={{ label: t('commissionRules.new'), dialog: (close) => <NewRuleDialog onClose={close} /> }}
    >
      <CommissionTabs />
    </ResourcePage>
  );
}

function NewRuleDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/commissions/rules');
  return (
    <FormDialog
      title={t('commissionRules.new')}
      lead={t('commissionRules.new.lead')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) =>
        create.send({
          body: {
            category: values.optional('category') ?? null,
            rateBasisPoints: Math.round(values.number('rateBasisPoints') * 100),
          },
        })
      }
    >
      <TextField
        label={t('field.category')}
        name="category"
        hint={t('commissionRules.category.hint')}
        maxLength={100}
        list={CATEGORIES_ID}
        isFirst
      />
      <Categories />
      <TextField
        label={t('commissionRules.percent')}
        name="rateBasisPoints"
        type="number"
        inputMode="decimal"
        min={0}
        max={100}
        step={0.01}
        required
      />
    </FormDialog>
  );
}
