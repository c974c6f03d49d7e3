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

/** One file for each page, and keys that begin with its name. Each has a file with the same name in ../sw. */
export const en = {
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
} as const;

/** The messages of one language. */
export type Catalogue = Readonly<Record<keyof typeof en, string>>;
