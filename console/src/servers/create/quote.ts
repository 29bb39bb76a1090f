import type { Quote, QuoteRequest } from '@berth/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { berth } from '../../client.ts'

/** A pause that skips the steps of a moving slider, too short for users to notice. */
const PAUSE_MS = 60

/** The quote for the form: its price and blockers. The last quote is shown until the next one arrives. */
export function useQuote(request: QuoteRequest | null) {
  const text = JSON.stringify(request)
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const query = useQuery({
    queryKey: ['quote', asked],
    queryFn: ({ signal }) => {
      const body: QuoteRequest = JSON.parse(asked) // written above from one
      return berth.quote(body, { signal })
    },
    enabled: asked !== 'null',
    staleTime: 10_000,
    placeholderData: keepPreviousData,
  })
  const [last, setLast] = useState<Quote>()
  if (query.data && query.data !== last) setLast(query.data)
  return { query, quote: query.data ?? last, isCurrent: asked === text && !query.isPlaceholderData }
}
