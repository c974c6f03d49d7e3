import { common } from './common.ts';
import { fields } from './fields.ts';
import { session } from './session.ts';
import { shared } from './shared.ts';
import { values } from './values.ts';

/** The messages of every page. The browser loads them first. */
export const core = {
  ...common,
  ...fields,
  ...session,
  ...shared,
  ...values,
} as const;
