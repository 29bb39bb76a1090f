import { useSyncExternalStore } from 'react'

export const locales = ['en', 'ru'] as const
export const themes = ['system', 'light', 'dark'] as const
export type Locale = (typeof locales)[number]
export type Theme = (typeof themes)[number]

interface Preferences {
  locale: Locale
  theme: Theme
}

const listeners = new Set<() => void>()
let present: Preferences = { locale: readLocale(), theme: oneOf(themes, kept('theme')) ?? 'system' }

function kept(name: keyof Preferences): string | null {
  try {
    return localStorage.getItem(`berth.${name}`)
  } catch {
    return null
  }
}

function oneOf<T extends string>(allowed: readonly T[], value: string | null): T | undefined {
  return allowed.find((candidate) => candidate === value)
}

function readLocale(): Locale {
  return oneOf(locales, kept('locale')) ?? (navigator.language.startsWith('ru') ? 'ru' : 'en')
}

export function applyPreferences(): void {
  document.documentElement.lang = present.locale
  document.documentElement.dataset.theme = present.theme
}

export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  present = { ...present, [name]: value }
  try {
    localStorage.setItem(`berth.${name}`, value)
  } catch {
    // In a browser without storage, it is lost with the tab.
  }
  applyPreferences()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, () => present)
