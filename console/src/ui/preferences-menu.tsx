import { locales, setPreference, themes, usePreferences } from '../preferences.ts'
import { Select } from './field.tsx'
import { useUiText } from './text.ts'

const languages = { en: 'English', ru: 'Русский' }

/** Language and theme. */
export function PreferencesMenu() {
  const t = useUiText()
  const { locale, theme } = usePreferences()
  return (
    <div className="preferences">
      <Select
        aria-label={t.language}
        value={locale}
        options={locales.map((value) => ({ value, title: languages[value] }))}
        onChange={(value) => setPreference('locale', value)}
      />
      <Select
        aria-label={t.theme}
        value={theme}
        options={themes.map((value) => ({ value, title: t.themes[value] }))}
        onChange={(value) => setPreference('theme', value)}
      />
    </div>
  )
}
