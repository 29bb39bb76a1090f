import { ConnectionError, isBerthError, TimeoutError } from '@berth/sdk'
import { messages } from '../messages.ts'
import { russianIssue, russianOf } from './russian.ts'

type Issue = { code: string; message: string; field: string }

const useWords = messages({
  en: {
    unreachable: 'The service does not answer. Check your connection.',
    ofCode: (_code: string, detail: string) => detail,
    ofIssue: ({ message }: Issue) => message,
    ofField: ({ message }: Issue) => message,
  },
  ru: {
    unreachable: 'Сервис не отвечает. Проверьте соединение.',
    ofCode: (code: string, detail: string) => russianOf(code) ?? detail,
    ofIssue: (issue: Issue) => `${issue.field}: ${russianIssue(issue)}.`,
    ofField: (issue: Issue) => russianIssue(issue),
  },
})

/** What the API says by a code and, for people, in English. */
export function useCodeText(): (problem: { code: string; detail: string }) => string {
  const words = useWords()
  return ({ code, detail }) => words.ofCode(code, detail)
}

/** A sentence for people about whatever went wrong. */
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
