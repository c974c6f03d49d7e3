import { useState } from 'react';
import { changeLanguage, currentLanguage, LANGUAGES, type Language, t } from './i18n/index.ts';
import { chooseTheme, currentTheme, THEMES } from './ui/theme.ts';

export function ThemeChoice() {
  const [theme, setTheme] = useState(currentTheme);
  return (
    <fieldset className="choice">
      <legend>{t('app.theme')}</legend>
      {THEMES.map((name) => (
        <label key={name}>
          <input
            type="radio"
            name="theme"
            checked={name === theme}
            onChange={() => {
              chooseTheme(name);
              setTheme(name);
            }}
          />
          <span>{t(`app.theme.${name}`)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Shows each language by its own name, such as Kiswahili. */
export function LanguageChoice({ onChange }: { onChange(): void }) {
  return (
    <fieldset className="choice">
      <legend>{t('app.language')}</legend>
      {(Object.keys(LANGUAGES) as Language[]).map((language) => (
        <label key={language} lang={language}>
          <input
            type="radio"
            name="language"
            checked={language === currentLanguage()}
            onChange={() => void changeLanguage(language).then(onChange)}
          />
          <span>{LANGUAGES[language]}</span>
        </label>
      ))}
    </fieldset>
  );
}
