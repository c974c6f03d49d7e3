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

/** The keys of messages with a singular and a plural, without the ending: `find.results` for `find.results.one`. */
type CountedKey = MessageKey extends infer Key ? (Key extends `${infer Stem}.other` ? Stem : never) : never;

/** The part of a key before the first dot, such as `accountStatus`. */
type Group = MessageKey extends infer Key ? (Key extends `${infer First}.${string}` ? First : never) : never;

const STORAGE_KEY = 'language';
/** The files that the browser loads: `core.ts` for all pages, and one for the opened page. */
const FILES = import.meta.glob<Record<string, Partial<Catalogue>>>([
  './*/*.ts',
  // `index.ts` is only for types and tests. The other excluded files are imported by the loaded files.
  '!./*/{index,codes,common,fields,history,money-work,plans,provider-answer,secrets,session,shared,values}.ts',
]);

/** The name of a file of messages, such as `account`. */
export type MessageFile = string;

let language: Language = 'en';
const messages: Record<Language, Partial<Catalogue>> = { en: {}, sw: {} };
const neededFiles = new Set<MessageFile>(['core']);
const loadedFiles = new Set<string>();

export function currentLanguage(): Language {
  return language;
}

/** Loads the language that the user chose, or else the first supported language of the browser, or else English. */
export async function loadPreferredLanguage(): Promise<void> {
  const wanted = [localStorage.getItem(STORAGE_KEY) ?? '', ...navigator.languages];
  language = wanted.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en';
  await switchTo(language);
}

export async function loadMessages(file: MessageFile): Promise<void> {
  neededFiles.add(file);
  await load(language, file);
}

/** Changes the messages but renders nothing: the caller must render the page again. */
export async function changeLanguage(chosen: Language): Promise<void> {
  await switchTo(chosen);
  localStorage.setItem(STORAGE_KEY, chosen);
}

/** The message in the language of the user: `t('account.title', { number })`. */
export function t<Key extends MessageKey>(key: Key, ...[parameters]: Arguments<Key>): string {
  return fill(messages[language][key] ?? key, parameters);
}

/** The singular or the plural of a message, by the plural rules of the language. The message can contain {count}. */
export function tCount(stem: CountedKey, count: number): string {
  const form = new Intl.PluralRules(language).select(count) === 'one' ? 'one' : 'other';
  const text = new Intl.NumberFormat(language).format(count);
  return fill(messages[language][`${stem}.${form}` as MessageKey] ?? stem, { count: text });
}

/** The message for a value of the API, such as a status. If the catalogue has no message, the value in words. */
export function tValue(
  group: Group,
  value: string,
  parameters?: Readonly<Record<string, string | number>>,
): string {
  return fill(messages[language][`${group}.${value}` as MessageKey] ?? nameOfKey(value), parameters);
}

/** Whether the catalogue has a message for a value. */
export function hasValue(group: Group, value: unknown): value is string {
  return typeof value === 'string' && `${group}.${value}` in messages[language];
}

/** Converts an identifier to words: "Panel watts" for `panelWatts` or `panel_watts`. Other names stay as they are. */
export function nameOfKey(key: string): string {
  if (!/^[a-z]{2}[a-z\d]*((_[a-z\d]+)*|([A-Z][a-z\d]+)*)$/.test(key)) return key;
  const words = key.replace(/_/g, ' ').replace(/[A-Z]/g, (start) => ` ${start.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

async function switchTo(chosen: Language): Promise<void> {
  const missing = () => [...neededFiles].filter((file) => !loadedFiles.has(`${chosen}/${file}`));
  // Checks again after loading, because another page may have been opened meanwhile.
  while (missing().length > 0) await Promise.all(missing().map((file) => load(chosen, file)));
  language = chosen;
  document.documentElement.lang = chosen;
}

async function load(language: Language, file: MessageFile): Promise<void> {
  const read = FILES[`./${language}/${file}.ts`];
  if (!read) throw new Error(`There is no file of messages ${language}/${file}.ts.`);
  for (const texts of Object.values(await read())) Object.assign(messages[language], texts);
  loadedFiles.add(`${language}/${file}`);
}

function isLanguage(tag: string): tag is Language {
  return tag in LANGUAGES;
}

function fill(text: string, parameters: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name] ?? ''));
}
