import { type ReactNode, useState } from 'react';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Facts } from '../../ui/panel.tsx';
import { describePlanInstalments } from '../shared/plan-terms.ts';
import { choosesFirstDue, leftOf, useCatalogue, useDates, usePreview } from './catalogue.ts';
import { nameOf, type Part, type Sale } from './sales.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';

/** The parts that have their own line. The payment is shown with the terms of the plan. */
const SHOWN = ['customer', 'identity', 'account'] as const satisfies Part[];

/** What has been entered, and what the customer will pay. Shown beside the steps on a wide screen. */
export function SaleSummary({ sale, showsParts }: { sale: Sale; showsParts: boolean }) {
  return (
    <aside className="panel" aria-label={t('sale.summary')}>
      <header className="panel-head">
        <h2>{t('sale.summary')}</h2>
      </header>
      <div className="panel-body">
        {showsParts && (
          <dl className="sale-parts">
            {SHOWN.map((part) => (
              <div key={part}>
                <dt className="muted">{t(`sale.step.${part}`)}</dt>
                <dd>
                  {isEntered(sale, part) ? (
                    <PartSummary sale={sale} part={part} />
                  ) : (
                    <span className="muted">–</span>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        )}
        <Terms sale={sale} />
      </div>
    </aside>
  );
}

function isEntered({ typed, customer }: Sale, part: (typeof SHOWN)[number]): boolean {
  if (part === 'customer') return Boolean(customer || typed.firstName || typed.lastName || typed.phone);
  return Boolean(part === 'identity' ? typed.documentNumber : typed.productId);
}

/** What the customer will pay, and until when. */
export function Terms({ sale: { typed } }: { sale: Sale }) {
  const { plans } = useCatalogue();
  const plan = plans.data?.find(({ id }) => String(id) === typed.payplanId);
  const usual = useDates(typed.activationDate)(plan?.id);
  const isChosen = choosesFirstDue(typed, plan);
  const chosen = usePreview(typed, isChosen).data;
  const [isShown, setIsShown] = useState(false);
  if (!plan) return null;
  const [first, last] = isChosen
    ? [chosen?.firstDueDate, chosen?.lastDueDate]
    : [usual?.firstInstalment, usual?.lastInstalment];
  const paid = Number(typed.amount || 0);
  return (
    <>
      <Facts
        rows={[
          [t('field.deposit'), format.money(plan.deposit)],
          [t('field.instalments'), describePlanInstalments(plan)],
          [t('field.total'), format.money(plan.total)],
          [t('sale.terms.first'), first ? format.date(first) : '–'],
          [t('sale.terms.last'), last ? format.date(last) : '–'],
          [t('sale.amount'), paid > 0 ? format.money(paid) : null],
          [t('sale.terms.left'), <strong key="left">{format.money(leftOf(plan, paid))}</strong>],
        ]}
      />
      <Button kind="quiet" onClick={() => setIsShown(true)}>
        {t('sale.schedule.show')}
      </Button>
      {isShown && <ScheduleDialog typed={typed} planName={plan.name} onClose={() => setIsShown(false)} />}
    </>
  );
}

interface PartSummaryProps {
  sale: Sale;
  part: Part;
}

/** What was entered in one part. `Terms` shows the terms of the plan. */
export function PartSummary({ sale, part }: PartSummaryProps): ReactNode {
  const { products, plans, methods } = useCatalogue();
  const { typed, customer } = sale;
  if (part === 'customer') {
    return (
      <>
        <strong>{nameOf(sale)}</strong>
        <span>{(customer ?? typed).phone}</span>
      </>
    );
  }
  if (part === 'identity') {
    if (!typed.documentNumber) return <span>{t('sale.identity.none')}</span>;
    const type = tValue('verificationType', typed.verificationType ?? 'national_id');
    return <span>{`${type} ${typed.documentNumber}`}</span>;
  }
  if (part === 'account') {
    const product = products.data?.find(({ id }) => String(id) === typed.productId);
    const plan = plans.data?.find(({ id }) => String(id) === typed.payplanId);
    return (
      <>
        <strong>{product?.name}</strong>
        <span>{plan?.name}</span>
      </>
    );
  }
  if (!typed.amount) return <span>{t('sale.amount.none')}</span>;
  const method = methods.find(({ id }) => String(id) === typed.paymentMethodId);
  return (
    <>
      <strong>{format.money(Number(typed.amount))}</strong>
      <span>{[method?.name, typed.transactionRef].filter(Boolean).join(' · ')}</span>
    </>
  );
}
