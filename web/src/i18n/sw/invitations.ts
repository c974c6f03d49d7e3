import type { invitations as en } from '../en/invitations.ts';

export const invitations: Record<keyof typeof en, string> = {
  'invitations.none': 'Hakuna aliyealikwa bado.',
  'invitations.new': 'Alika mtu',
  'invitations.new.lead': 'Kwa watu wanaoingia kupitia mtoa utambulisho.',
  'invitations.submit': 'Unda mwaliko',
  'invitations.days': 'Idadi ya siku za uhalali',
  'invitations.purpose': 'Kwa ajili ya',
  'invitations.token': 'Tokeni ya mwaliko',
  'invitations.token.lead': 'Mtumie mhusika kwa njia salama.',
  'invitations.revoke': 'Futa mwaliko',
  'invitations.revoked': 'Mwaliko umefutwa',
  'invitationStatus.pending': 'Unasubiri',
  'invitationStatus.accepted': 'Umekubaliwa',
  'invitationStatus.revoked': 'Umefutwa',
  'invitationStatus.expired': 'Muda umeisha',
  'invitationPurpose.sign_up': 'Mtumiaji mpya',
  'invitationPurpose.link_identity': 'Mtumiaji aliyepo',
  'field.expiresAt': 'Inaisha',
};
