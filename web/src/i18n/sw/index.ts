import type { Catalogue } from '../en/index.ts';
import { account } from './account.ts';
import { common } from './common.ts';
import { customer } from './customer.ts';
import { find } from './find.ts';
import { invoice } from './invoice.ts';
import { payment } from './payment.ts';
import { sale } from './sale.ts';
import { session } from './session.ts';
import { today } from './today.ts';
import { unmatched } from './unmatched.ts';
import { values } from './values.ts';

export const sw: Catalogue = {
  ...common,
  ...values,
  ...session,
  ...find,
  ...account,
  ...customer,
  ...today,
  ...payment,
  ...invoice,
  ...unmatched,
  ...sale,
};
