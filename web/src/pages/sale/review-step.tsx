import { Link } from 'wouter';
import { t } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { useSharingAccount } from '../shared/share.tsx';
import { useConnection } from '../shared/use-connection.ts';
import {
  canChange,
  hasSavingStarted,
  isSending,
  PARTS,
  type Part,
  partsOf,
  type Sale,
  saveSale,
} from './sales.ts';
import { PartSummary, Terms } from './summary.tsx';

interface ReviewStepProps {
  sale: Sale;
  /** Whether the terms are shown, because they are not beside the step. */
  showsTerms: boolean;
  onChange(part: Part): void;
  onNextSale(): void;
}

/** Shows what will be saved, and which parts are saved already. */
export function ReviewStep({ sale, showsTerms, onChange, onNextSale }: ReviewStepProps) {
  const parts = partsOf(sale);
  const isDone = parts.every((part) => sale.parts[part].progress === 'saved');
  const saved = isDone ? sale.account : undefined;
  const isBusy = isSending(sale);
  const unconfirmed = PARTS.map((part) => sale.parts[part]).find(({ progress }) => progress === 'unknown');
  return (
    <>
      {saved && (
        <div className="sale-number">
          <p role="status">
            <span>{t('sale.done')}</span>
            <strong className="mono" translate="no">
              {saved.accountNumber}
            </strong>
            <span className="muted">{t('sale.done.hint')}</span>
          </p>
          <ShareAccount id={saved.id} />
        </div>
      )}
      <ul className="rows sale-review">
        {PARTS.map((part) => (
          <li key={part}>
            <span>
              <span className="muted">{t(`sale.step.${part}`)}</span>
              <PartSummary sale={sale} part={part} />
            </span>
            <span className="sale-state">
              <State sale={sale} part={part} isInSale={parts.includes(part)} />
              {canChange(sale, part) && !isBusy && !isDone && (
                <Button kind="quiet" aria-label={labelOf(part)} onClick={() => onChange(part)}>
                  {t('sale.change')}
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {showsTerms && <Terms sale={sale} />}
      {unconfirmed && (
        <Notice tone="warning" title={unconfirmed.problem?.message || t('form.unconfirmed')}>
          {t('sale.unknown')}
        </Notice>
      )}
      <div className="form-buttons">
        {saved ? (
          <>
            <Button onClick={onNextSale}>{t('sale.next.sale')}</Button>
            <Link className="button primary" href={`/accounts/${saved.id}`}>
              {t('sale.open')}
            </Link>
          </>
        ) : (
          <>
            {isBusy && <Button onClick={onNextSale}>{t('sale.next.sale')}</Button>}
            <Button kind="primary" isBusy={isBusy} onClick={() => void saveSale(sale.id)}>
              {isBusy ? t('form.sending') : t(hasSavingStarted(sale) ? 'sale.saveRest' : 'sale.save')}
            </Button>
          </>
        )}
      </div>
    </>
  );
}

function labelOf(part: Part): string {
  return `${t('sale.change')}: ${t(`sale.step.${part}`)}`;
}

const TONES: Record<Sale['parts'][Part]['progress'], Tone> = {
  open: 'warning',
  sending: 'info',
  saved: 'good',
  refused: 'bad',
  unknown: 'warning',
};

/** Shows whether a part is saved. An existing customer counts as saved. */
function State({ sale, part, isInSale }: { sale: Sale; part: Part; isInSale: boolean }) {
  const isConnected = useConnection() === 'ok';
  const { progress } = sale.parts[part];
  if (!isInSale) return part === 'customer' ? <Badge tone="good">{t('sale.state.saved')}</Badge> : null;
  const isRetrying = progress === 'sending' && !isConnected;
  return (
    <span role="status">
      <Badge tone={isRetrying ? 'warning' : TONES[progress]}>
        {t(`sale.state.${isRetrying ? 'waiting' : progress}`)}
      </Badge>
    </span>
  );
}

function ShareAccount({ id }: { id: number }) {
  const { share, isRunning, dialog } = useSharingAccount(id);
  return (
    <>
      <Button icon="upload" isBusy={isRunning} onClick={() => void share()}>
        {t('share.account')}
      </Button>
      {dialog}
    </>
  );
}
