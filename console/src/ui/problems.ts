import { ConnectionError, isBerthError, TimeoutError } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { messages } from '../messages.ts'
import { usePreferences } from '../preferences.ts'

type Issue = { code: string; message: string; field: string }

export const useOwnWords = messages({
  en: { unreachable: 'The service does not answer. Check your connection.' },
  ru: { unreachable: 'Сервис не отвечает. Проверьте соединение.' },
})

/** The API replies in English. Only Russian readers load the translations of its errors. */
function useWords() {
  const isRussian = usePreferences().locale === 'ru'
  const queryFn = () => import('./russian.ts')
  const { data: russian } = useQuery({
    queryKey: ['russian'],
    queryFn,
    enabled: isRussian,
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
  })
  const own = useOwnWords()
  if (!isRussian || !russian)
    return {
      ...own,
      ofCode: (_code: string, detail: string) => detail,
      ofIssue: ({ message }: Issue) => message,
      ofField: ({ message }: Issue) => message,
    }
  return {
    ...own,
    ofCode: (code: string, detail: string) => russian.russianOf(code) ?? detail,
    ofIssue: (issue: Issue) => `${issue.field}: ${russian.russianIssue(issue)}.`,
    ofField: (issue: Issue) => russian.russianIssue(issue),
  }
}

/** Translates a code with an English detail into the user's language. */
export function useCodeText(): (problem: { code: string; detail: string }) => string {
  const words = useWords()
  return ({ code, detail }) => words.ofCode(code, detail)
}

/** A sentence about an error. */
export function useProblemText(): (error: Error) => string {
  const words = useWords()
  return (error) => {
    if (isBerthError(error))
      return error.errors.length > 0
        ? error.errors.map(words.ofIssue).join(' ')
        : words.ofCode(error.code, error.detail)
    if (error instanceof ConnectionError || error instanceof TimeoutError) return words.unreachable
    return error.message
  }
}

/** The API's complaint about one field of a form, if there is one. */
export function useFieldError(error: Error | null): (field: string) => string | null {
  const words = useWords()
  return (field) => {
    if (!isBerthError(error)) return null
    const issue = error.errors.find((one) => one.in === 'body' && one.field === field)
    return issue ? words.ofField(issue) : null
  }
}
