import { type Locale, usePreferences } from './preferences.ts'

/** A text in every language; English stands in for one that is missing. */
export interface Words {
  en: string
  ru?: string
}

/** As much of the texts as is translated. */
type Translated<Texts> = Texts extends string | readonly unknown[] | ((...args: never[]) => unknown)
  ? Texts
  : { [Name in keyof Texts]?: Translated<Texts[Name]> }

interface Table<Texts> {
  en: Texts
  ru: Translated<NoInfer<Texts>>
}

/**
 * The texts of a part of the console in every language. English stands in for a text that is missing in another
 * language; `test/console-texts.test.ts` lists what is missing.
 * @returns a hook that gives the texts in the user's language
 */
export function messages<Texts extends object>(table: Table<Texts>) {
  const texts = { en: table.en, ru: filled(table.en, table.ru) }
  return Object.assign(() => texts[usePreferences().locale], { table })
}

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function filled<Texts extends object>(english: Texts, translated: object): Texts {
  const groups = Object.entries(translated).map(([name, value]) => {
    const original = Reflect.get(english, name)
    return [name, isGroup(value) && isGroup(original) ? filled(original, value) : value]
  })
  return { ...english, ...Object.fromEntries(groups) }
}

/** Reads a text in the user's language. */
export function useWords(): (words: Words) => string {
  const { locale } = usePreferences()
  return (words) => words[locale] ?? words.en
}

type Forms = { one: string; few?: string; many?: string; other: string }

const rules = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') }

/** A number with its noun in the right form: `3 servers`, `3 сервера`. */
export function count(locale: Locale, value: number, forms: Forms): string {
  const form = rules[locale].select(value)
  const noun = form === 'one' ? forms.one : form === 'few' ? forms.few : form === 'many' ? forms.many : null
  return `${value.toLocaleString(locale)} ${noun ?? forms.other}`
}
