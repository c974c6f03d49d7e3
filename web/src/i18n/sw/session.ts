import type { session as en } from '../en/session.ts';

export const session: Record<keyof typeof en, string> = {
  'session.title': 'Ingia',
  'session.lead': 'Tumia barua pepe na nenosiri la akaunti yako ya kazi.',
  'session.email': 'Barua pepe',
  'session.password': 'Nenosiri',
  'session.submit': 'Ingia',
  'session.with': 'Endelea na {provider}',
  'session.or': 'au',
  'session.ended': 'Kipindi chako kimeisha. Ingia tena uendelee ulipoachia.',
  'session.failed': 'Barua pepe au nenosiri si sahihi.',
  'session.tooMany': 'Umejaribu mara nyingi mno. Subiri dakika chache, kisha jaribu tena.',
  'session.unavailable': 'Huduma haijibu. Angalia mtandao wako, kisha jaribu tena.',
  'session.currentPassword': 'Nenosiri la sasa',
  'session.newPassword': 'Nenosiri jipya',
  'session.newPassword.hint': 'Chagua sentensi au maneno kadhaa ambayo hakuna anayeweza kuyakisia.',
  'session.passwordChanged': 'Nenosiri limebadilishwa. Vipindi vyako vingine vimefungwa.',
  'session.wrongPassword': 'Hili si nenosiri lako la sasa.',
};
