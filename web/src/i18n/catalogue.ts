import type { Catalogue, en } from './en/index.ts';

export const LANGUAGES = { en: 'English', sw: 'Kiswahili' } as const;
export type Language = keyof typeof LANGUAGES;
export type MessageKey = keyof typeof en;

type ParameterName<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterName<Rest>
  : never;
type Parameters<Key extends MessageKey> = ParameterName<(typeof en)[Key]>;
type Arguments<Key extends MessageKey> = [Parameters<Key>] extends [never]
  ? []
  : [Readonly<Record<Parameters<Key>, string | number>>];

/** The keys of messages in two forms, such as `list.rows.one` and `list.rows.other`. */
type CountedKey = MessageKey extends infer Key ? (Key extends `${infer Stem}.other` ? Stem : never) : never;

const STORAGE_KEY = 'language';
const LOADERS: Record<Language, () => Promise<Catalogue>> = {
  en: async () => (await import('./en/index.ts')).en,
  sw: async () => (await import('./sw/index.ts')).sw,
};

let language: Language = 'en';
let messages: Partial<Catalogue> = {};

export function currentLanguage(): Language {
  return language;
}

/** The language that the user chose, or else the first supported language of the browser. */
export async function loadPreferredLanguage(): Promise<void> {
  const wanted = [localStorage.getItem(STORAGE_KEY) ?? '', ...navigator.languages];
  await switchTo(wanted.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en');
}

/** Changes the messages but renders nothing: the caller must render the page again. */
export async function changeLanguage(chosen: Language): Promise<void> {
  await switchTo(chosen);
  localStorage.setItem(STORAGE_KEY, chosen);
}

/** The message in the language of the user: `t('account.paidUntil', { date })`. */
export function t<Key extends MessageKey>(key: Key, ...[parameters]: Arguments<Key>): string {
  return fill(messages[key] ?? key, parameters);
}

/** The message for a number, by the plural rules of the language. It may contain {count}. */
export function tCount(stem: CountedKey, count: number): string {
  const form = new Intl.PluralRules(language).select(count) === 'one' ? 'one' : 'other';
  const text = new Intl.NumberFormat(language).format(count);
  return fill(messages[`${stem}.${form}` as MessageKey] ?? stem, { count: text });
}

/** The message for a value of the API, such as a status; the value itself if it is newer than the catalogue. */
export function tValue(group: ValueGroup, value: string): string {
  return messages[`${group}.${value}` as MessageKey] ?? value.replaceAll('_', ' ');
}

/** Groups of messages for values of the API. */
type ValueGroup =
  | 'accountStatus'
  | 'paymentState'
  | 'paymentStatus'
  | 'frequency'
  | 'role'
  | 'kycStatus'
  | 'verificationType'
  | 'invoiceStatus'
  | 'searchType'
  | 'statementRow'
  | 'itemState'
  | 'paymentSource'
  | 'matchMethod'
  | 'confidence'
  | 'notificationFlag'
  | 'active'
  | 'statementStatus'
  | 'lineResult'
  | 'commissionStatus'
  | 'roleHint'
  | 'invitationStatus'
  | 'invitationPurpose'
  | 'apiKeyStatus'
  | 'deliveryOutcome'
  | 'disabledReason'
  | 'resource';

async function switchTo(chosen: Language): Promise<void> {
  messages = await LOADERS[chosen]();
  language = chosen;
  document.documentElement.lang = chosen;
}

function isLanguage(tag: string): tag is Language {
  return tag in LANGUAGES;
}

function fill(text: string, parameters: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name] ?? ''));
}
