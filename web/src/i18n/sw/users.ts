import type { users as en } from '../en/users.ts';
import { roleHints, userEmployees } from './codes.ts';
import { secrets } from './secrets.ts';

export const users: Record<keyof typeof en, string> = {
  ...userEmployees,
  ...roleHints,
  ...secrets,
  'invitations.title': 'Mialiko',
  'users.new': 'Mtumiaji mpya',
  'users.new.lead': 'Mpe nenosiri ana kwa ana. Anaweza kulibadilisha baada ya kuingia.',
  'users.password.hint': 'Chagua maneno kadhaa ambayo hakuna mtu angeweza kukisia.',
  'users.newPassword.hint': 'Acha wazi ili nenosiri libaki. Jipya humaliza vipindi vyote vya mtumiaji.',
  'users.cashLeft':
    'Imehifadhiwa. Ikiwa mtumiaji ana pesa taslimu, idara ya fedha lazima izifunge kwenye “Pesa taslimu za wote”.',
  'users.active': 'Anaruhusiwa kuingia',
  'invitations.none': 'Hakuna aliyealikwa bado.',
  'invitations.new': 'Alika mtu',
  'invitations.new.lead': 'Wanachagua nenosiri wenyewe, au wanaingia kupitia mtoa utambulisho.',
  'invitations.again': 'Alika tena',
  'invitations.again.lead': 'Kiungo kipya kinachukua nafasi ya kile cha awali.',
  'invitations.identity': 'Unganisha mtoa utambulisho',
  'invitations.identity.lead': '{email} ataweza kuingia kupitia mtoa utambulisho.',
  'invitations.submit': 'Unda mwaliko',
  'invitations.days': 'Idadi ya siku za uhalali',
  'invitations.purpose': 'Kwa ajili ya',
  'invitations.link': 'Kiungo cha mwaliko',
  'invitations.link.lead': 'Kitume kwa {email} kwa njia unayoiamini. Kinaweza kutumika mara moja tu.',
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
