import { namesWith } from '../core/declared-fields.ts';
import { nationalDigits } from '../core/values/phone.ts';
import { foldForSearch, nationalIdKey } from './rules.ts';
import { type CustomerValues, customerFields } from './schema.ts';

/** The text that searches look in. It also contains the phones in national form, and the national id without punctuation. */
export function searchText(customer: CustomerValues): string {
  const { email, phone, secondPhone, nationalId } = customer;
  const declared = namesWith(customerFields, 'searched').map((name) => customer[name]);
  const idKey = nationalId === null ? null : nationalIdKey(nationalId);
  const second = secondPhone === null ? [] : [secondPhone, nationalDigits(secondPhone)];
  const parts = [...declared, email, phone, nationalDigits(phone), ...second, nationalId, idKey];
  return foldForSearch(parts.filter((part) => part).join(' '));
}
