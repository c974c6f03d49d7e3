import type { users as en } from '../en/users.ts';

export const users: Record<keyof typeof en, string> = {
  'users.new': 'Mtumiaji mpya',
  'users.new.lead': 'Mpe nenosiri ana kwa ana. Anaweza kulibadilisha baada ya kuingia.',
  'users.password': 'Nenosiri',
  'users.password.hint': 'Chagua maneno kadhaa ambayo hakuna mtu angeweza kukisia.',
  'users.newPassword': 'Nenosiri jipya',
  'users.newPassword.hint': 'Acha wazi ili nenosiri libaki. Jipya humaliza vipindi vyote vya mtumiaji.',
  'users.active': 'Anaruhusiwa kuingia',
  'field.firstName': 'Jina la kwanza',
  'field.lastName': 'Jina la ukoo',
};
