/** All keys of the console. The handlers of keys and the dialog that lists them use this table. */
export const KEYS = {
  find: '/',
  help: '?',
  down: 'ArrowDown',
  up: 'ArrowUp',
  open: 'Enter',
  clear: 'Escape',
  /** Each of these digits chooses the candidate with this number. */
  choose: '123456789',
  search: '0',
  send: 'Enter',
  next: 'N',
  previous: 'P',
  undo: 'U',
} as const;
export type KeyName = keyof typeof KEYS;
