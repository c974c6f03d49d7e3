import type { Context } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { findLanguage } from './store.ts';

/** The language of texts for the customer of an account: the customer's own, or else that of the company. */
export async function languageOf({ db, config }: Context, accountId: number): Promise<Language> {
  return (await findLanguage(db, accountId)) ?? config.DOCUMENT_LANGUAGE;
}
