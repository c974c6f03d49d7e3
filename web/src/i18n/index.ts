export {
  changeLanguage,
  currentLanguage,
  LANGUAGES,
  type Language,
  loadPreferredLanguage,
  type MessageKey,
  t,
  tCount,
  tValue,
} from './catalogue.ts';
export * as format from './format.ts';
