import { type Locale, usePreferences } from './preferences.ts'

/**
 * The texts of a part of the console in every language. A message that one of them lacks does not compile.
 * @returns a hook that gives those of the reader's language
 */
export function messages<Texts extends object>(table: { en: Texts; ru: NoInfer<Texts> }): () => Texts {
  return () => table[usePreferences().locale]
}

type Forms = { one: string; few?: string; many?: string; other: string }

const rules = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') }

/** A number with its noun in the right form: `3 servers`, `3 сервера`. */
export function count(locale: Locale, value: number, forms: Forms): string {
  const form = rules[locale].select(value)
  const noun = form === 'one' ? forms.one : form === 'few' ? forms.few : form === 'many' ? forms.many : null
  return `${value.toLocaleString(locale)} ${noun ?? forms.other}`
}
