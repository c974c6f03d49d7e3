import type { Schemas } from '../../api/paths.ts';
import type { Tone } from '../../ui/badge.tsx';

export const ACCOUNT_TONES: Record<Schemas['AccountStatus'], Tone> = {
  pending: 'info',
  active: 'good',
  suspended: 'warning',
  defaulted: 'bad',
  repossessed: 'bad',
  completed: 'good',
  written_off: 'neutral',
  cancelled: 'neutral',
};

export const PAYMENT_STATE_TONES: Record<Schemas['PaymentState'], Tone> = {
  paid_off: 'good',
  closed: 'neutral',
  not_due: 'neutral',
  late: 'bad',
  in_grace: 'warning',
  paid_ahead: 'good',
  current: 'good',
};

export const PAYMENT_TONES: Record<Schemas['PaymentStatus'], Tone> = {
  matched: 'good',
  unmatched: 'warning',
  reversed: 'neutral',
};

export const KYC_TONES: Record<Schemas['VerificationStatus'], Tone> = {
  pending: 'warning',
  verified: 'good',
  rejected: 'bad',
  expired: 'bad',
};

export const COMMISSION_TONES: Record<Schemas['CommissionStatus'], Tone> = {
  calculated: 'warning',
  approved: 'info',
  paid: 'good',
};
