import '../../ui/sale.css';
import { useQueryClient } from '@tanstack/react-query';
import {
  type FormEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useSearchParams } from 'wouter';
import { isOfPage } from '../../api/live-queries.ts';
import { t, tCount } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { PageHead } from '../../ui/panel.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { readsAllRows } from '../shared/catalogue.ts';
import { useConnection } from '../shared/use-connection.ts';
import { AccountStep } from './account-step.tsx';
import { useCatalogue } from './catalogue.ts';
import { CustomerStep } from './customer-step.tsx';
import { IdentityStep } from './identity-step.tsx';
import { PaymentStep } from './payment-step.tsx';
import { ReviewStep } from './review-step.tsx';
import {
  canChange,
  currentSales,
  discardSale,
  type FieldName,
  hasSavingStarted,
  isSaved,
  isSending,
  isUnsaved,
  keepTyped,
  nameOf,
  onSalesChange,
  openSale,
  PARTS,
  type Part,
  passStep,
  type Sale,
  saveSale,
  startSale,
} from './sales.ts';
import { SaleSummary } from './summary.tsx';

const STEPS = [...PARTS, 'review'] as const;
type Step = (typeof STEPS)[number];

/** Wide enough for `.columns` to have two columns. */
const HAS_SUMMARY = '(width >= 72rem)';

/** A sale in short steps. Nothing is saved before the last step, so the earlier steps work without a connection. */
export function Page() {
  const { all, openId } = useSyncExternalStore(onSalesChange, currentSales);
  const [parameters, setParameters] = useSearchParams();
  const queries = useQueryClient();
  const hasSummary = useMedia(HAS_SUMMARY);
  useCatalogue(); // Loads the catalogue for the later steps, which can be opened without a connection.
  const [isDiscarding, setIsDiscarding] = useState(false);
  const sale = all.find(({ id }) => id === openId);
  const accountId = sale?.account?.id;
  useEffect(() => {
    // A sale does not change the catalogue, which the page shows.
    if (accountId !== undefined)
      void queries.invalidateQueries({
        predicate: (query) => !readsAllRows(query) && isOfPage(query.queryKey, location.pathname),
      });
  }, [queries, accountId]);
  const refused = sale && PARTS.find((part) => sale.parts[part].progress === 'refused');
  useEffect(() => {
    if (refused) setParameters({ step: refused }, { replace: true });
  }, [refused, setParameters]);
  // The page was opened for a new sale, and not to see the end of the last one again.
  const isOfLastSale = sale !== undefined && isSaved(sale) && parameters.get('step') === null;
  useLayoutEffect(() => {
    if (isOfLastSale) startSale();
  }, [isOfLastSale]);
  if (!sale || isOfLastSale) return null;

  const wanted = STEPS.find((step) => step === parameters.get('step')) ?? 'customer';
  const step = STEPS.slice(0, STEPS.indexOf(wanted)).find((earlier) => !isPassed(sale, earlier)) ?? wanted;
  const goTo = (next: Step) => setParameters(next === 'customer' ? {} : { step: next });
  const goOn = () => {
    if (step !== 'review') passStep(sale.id, step);
    if (!hasSavingStarted(sale)) return goTo(STEPS[STEPS.indexOf(step) + 1] ?? 'review');
    goTo('review');
    void saveSale(sale.id);
  };
  const goBack = hasSavingStarted(sale)
    ? undefined
    : () => goTo(STEPS[STEPS.indexOf(step) - 1] ?? 'customer');
  const goToNextSale = () => {
    startSale();
    goTo('customer');
  };
  const others = all.filter((other) => other.id !== sale.id && isUnsaved(other));
  return (
    <div className="narrow sale">
      <PageHead
        title={t('nav.sale')}
        actions={
          isUnsaved(sale) &&
          !hasSavingStarted(sale) && (
            <Button kind="quiet" onClick={() => setIsDiscarding(true)}>
              {t('sale.discard')}
            </Button>
          )
        }
      />
      {isDiscarding && (
        <DiscardDialog
          name={nameOf(sale)}
          onClose={() => setIsDiscarding(false)}
          onDiscard={() => {
            setIsDiscarding(false);
            discardSale(sale.id);
            goTo('customer');
          }}
        />
      )}
      <Offline />
      <OtherSales
        sales={others}
        onOpen={(id) => {
          openSale(id);
          goTo('review');
        }}
      />
      <Steps sale={sale} current={step} onChoose={goTo} />
      <div className="columns">
        <StepFrame key={`${sale.id} ${step}`} sale={sale} step={step}>
          {step === 'customer' && <CustomerStep sale={sale} onDone={goOn} />}
          {step === 'identity' && <IdentityStep sale={sale} onDone={goOn} onBack={goBack} />}
          {step === 'account' && <AccountStep sale={sale} onDone={goOn} onBack={goBack} />}
          {step === 'payment' && <PaymentStep sale={sale} onDone={goOn} onBack={goBack} />}
          {step === 'review' && (
            <ReviewStep sale={sale} showsTerms={!hasSummary} onChange={goTo} onNextSale={goToNextSale} />
          )}
        </StepFrame>
        {hasSummary && (
          <div className="side-column sale-side">
            <SaleSummary sale={sale} showsParts={step !== 'review'} />
          </div>
        )}
      </div>
    </div>
  );
}

/** Typing alone never opens the next step. */
function isPassed({ passed }: Sale, step: Step): boolean {
  return passed.some((part) => part === step);
}

/** Stores what the user types. Moves the focus into the step before the browser draws the step, so that no key is lost. */
function StepFrame({ sale, step, children }: { sale: Sale; step: Step; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const first = box.current?.querySelector<HTMLElement>('[data-first], input, button.primary');
    first?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  function keep({ target }: FormEvent) {
    const { name, value } = target as HTMLInputElement;
    if (name !== '') keepTyped(sale.id, { [name as FieldName]: value });
  }
  return (
    <section ref={box} className="panel sale-step" aria-label={t(`sale.step.${step}`)} onInput={keep}>
      <h2>{t(`sale.step.${step}`)}</h2>
      {children}
    </section>
  );
}

interface StepsProps {
  sale: Sale;
  current: Step;
  onChoose(step: Step): void;
}

/** The position of the current step, and a button for each step. The button of a step that cannot be opened is disabled. */
function Steps({ sale, current, onChoose }: StepsProps) {
  const at = STEPS.indexOf(current);
  return (
    <nav aria-label={t('sale.steps')}>
      <p className="sale-position muted">{t('sale.position', { step: at + 1, steps: STEPS.length })}</p>
      <ol className="sale-steps">
        {STEPS.map((step, index) => {
          const isOpen = STEPS.slice(0, index).every((earlier) => isPassed(sale, earlier));
          const isFixed = isSending(sale) || (step !== 'review' && !canChange(sale, step as Part));
          return (
            <li
              key={step}
              className={index < at ? 'done' : ''}
              aria-current={index === at ? 'step' : undefined}
            >
              <button type="button" disabled={!isOpen || isFixed} onClick={() => onChoose(step)}>
                {t(`sale.step.${step}`)}
              </button>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

interface DiscardDialogProps {
  name: string;
  onDiscard(): void;
  onClose(): void;
}

function DiscardDialog({ name, onDiscard, onClose }: DiscardDialogProps) {
  return (
    <Dialog title={t('sale.discard.title')} lead={name} onClose={onClose}>
      <p>{t('sale.discard.text')}</p>
      <div className="form-buttons">
        <Button onClick={onClose}>{t('sale.discard.keep')}</Button>
        <Button kind="danger" onClick={onDiscard}>
          {t('sale.discard')}
        </Button>
      </div>
    </Dialog>
  );
}

/** Other sales that are not saved yet. */
function OtherSales({ sales, onOpen }: { sales: readonly Sale[]; onOpen(id: number): void }) {
  if (sales.length === 0) return null;
  return (
    <Notice tone="warning" title={tCount('sale.waiting', sales.length)}>
      <ul className="rows">
        {sales.map((sale) => (
          <li key={sale.id}>
            <span>{nameOf(sale)}</span>
            <Button onClick={() => onOpen(sale.id)}>{t('sale.waiting.open')}</Button>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Offline() {
  const isOnline = useSyncExternalStore(onNetworkChange, () => navigator.onLine);
  const isLost = useConnection() === 'lost';
  if (isOnline && !isLost) return null;
  return (
    <div className="sale-offline">
      <Notice tone="warning" title={t('sale.offline')}>
        {t('sale.offline.hint')}
      </Notice>
    </div>
  );
}

function onNetworkChange(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}
