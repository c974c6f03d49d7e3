export {
  changeLanguage,
  currentLanguage,
  hasValue,
  LANGUAGES,
  type Language,
  loadMessages,
  loadPreferredLanguage,
  type MessageFile,
  type MessageKey,
  nameOfKey,
  t,
  tCount,
  tValue,
} from './catalogue.ts';
export { exactly } from './exactly.ts';
export * as format from './format.ts';
