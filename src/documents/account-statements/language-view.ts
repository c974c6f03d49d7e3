import type { Context } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { findLanguage } from '../../customers/store.ts';

/** The language of texts for a customer: the customer's own, or else that of the company. */
export async function languageOf({ db, config }: Context, customerId: number): Promise<Language> {
  return (await findLanguage(db, customerId)) ?? config.DOCUMENT_LANGUAGE;
}
