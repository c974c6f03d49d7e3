import type { core as en } from '../en/core.ts';
import { common } from './common.ts';
import { fields } from './fields.ts';
import { session } from './session.ts';
import { shared } from './shared.ts';
import { values } from './values.ts';

export const core: Record<keyof typeof en, string> = {
  ...common,
  ...fields,
  ...session,
  ...shared,
  ...values,
};
