export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const STORAGE_KEY = 'theme';

export function currentTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return THEMES.find((theme) => theme === stored) ?? 'system';
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(STORAGE_KEY, theme);
  applyTheme();
}

/** Sets the attribute that the style sheet reads. Without the attribute, the theme of the system applies. */
export function applyTheme(): void {
  const theme = currentTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
