export const find = {
  'find.hint': 'Press / anywhere to search.',
} as const;
