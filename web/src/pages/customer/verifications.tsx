import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Loaded, Notice } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { nameOfActor } from '../shared/actor.ts';
import { KYC_TONES } from '../shared/tones.ts';
import { WriteNotice } from '../shared/write-notice.tsx';
import { SubmissionDialog } from './submission-dialog.tsx';

type Verification = Schemas['KycRecord'];

/** The submitted documents and the decisions about the identity of a customer, newest first. */
export function Verifications({
  customerId,
  isReviewPending,
}: {
  customerId: number;
  isReviewPending: boolean;
}) {
  const [isSubmitting, setIsSubmitting] = useState(false);
  const records = api.useQuery('get', '/api/customers/{id}/kyc', {
    params: { path: { id: customerId }, query: { sort: 'id:desc', limit: 20 } },
  });
  return (
    <Panel
      title={t('customer.kyc')}
      actions={
        may('kyc:submit') && <Button onClick={() => setIsSubmitting(true)}>{t('customer.kyc.submit')}</Button>
      }
    >
      <Loaded query={records} explain={explain}>
        {({ data: [latest, ...earlier] }) =>
          latest ? (
            <>
              <ol className="history">
                {[latest, ...earlier].map((record) => (
                  <li key={record.id}>
                    <VerificationRow record={record} />
                  </li>
                ))}
              </ol>
              {isReviewPending && may('kyc:decide') && (
                <Decision record={waiting([latest, ...earlier])} key={latest.id} />
              )}
            </>
          ) : (
            <p className="muted">{t('customer.kyc.none')}</p>
          )
        }
      </Loaded>
      {isSubmitting && <SubmissionDialog customerId={customerId} onClose={() => setIsSubmitting(false)} />}
    </Panel>
  );
}

/** The submission that waits for a decision, or the verification of a customer who was changed afterwards. */
function waiting([latest, ...earlier]: [Verification, ...Verification[]]): Verification {
  const isOpen = ({ verificationStatus }: Verification) =>
    verificationStatus === 'pending' || verificationStatus === 'verified';
  return [latest, ...earlier].find(isOpen) ?? latest;
}

function VerificationRow({ record }: { record: Verification }) {
  return (
    <>
      <span className="spread">
        <strong>{tValue('verificationType', record.verificationType)}</strong>
        <Badge tone={KYC_TONES[record.verificationStatus]}>
          {tValue('kycStatus', record.verificationStatus)}
        </Badge>
      </span>
      {record.documents.map((document) => (
        <DocumentText key={JSON.stringify(document)} document={document} />
      ))}
      <span className="muted">
        {t('customer.kyc.by', { actor: nameOfActor(record.actor), date: format.dateTime(record.createdAt) })}
      </span>
    </>
  );
}

/** Shows a document, which is a text or an object. The `type` of an object is left out, because the row already names it. */
function DocumentText({ document }: { document: unknown }) {
  if (typeof document !== 'object' || document === null) return <span>{String(document)}</span>;
  const { url, type, ...others } = document as Record<string, unknown>;
  const values = Object.values(others).map(String).join(' · ');
  const isWebAddress = typeof url === 'string' && /^https?:\/\//.test(url);
  return (
    <span>
      {values}{' '}
      {isWebAddress && (
        <a href={url} target="_blank" rel="noreferrer noopener">
          {new URL(url).hostname}
        </a>
      )}
    </span>
  );
}

const CONFIRMED = { confirmation: { codes: ['different_number' as const] } };

function Decision({ record }: { record: Verification }) {
  const decide = useWrite('put', '/api/customers/{id}/kyc');
  const isUnconfirmed = decide.problem?.details.warnings !== undefined;
  async function send(verificationStatus: 'verified' | 'rejected', more: typeof CONFIRMED | object = {}) {
    const { customerId, verificationType } = record;
    const body = { verificationType, verificationStatus, ...more };
    const saved = await decide.send({ params: { path: { id: customerId } }, body });
    if (saved) toast({ text: t('customer.kyc.decided') });
  }
  return (
    <>
      {isUnconfirmed ? (
        <Notice tone="warning" title={t('customer.kyc.otherNumber')}>
          <p>{t('customer.kyc.otherNumber.text')}</p>
          <Button kind="danger" isBusy={decide.isSending} onClick={() => void send('verified', CONFIRMED)}>
            {t('customer.kyc.otherNumber.confirm')}
          </Button>
        </Notice>
      ) : (
        <WriteNotice problem={decide.problem} />
      )}
      <Actions>
        <Button kind="primary" isBusy={decide.isSending} onClick={() => void send('verified')}>
          {t('customer.kyc.verify')}
        </Button>
        <Button kind="danger" isBusy={decide.isSending} onClick={() => void send('rejected')}>
          {t('customer.kyc.reject')}
        </Button>
      </Actions>
    </>
  );
}
