import type { Account } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useLimitValue } from '../account/limit-value.ts'
import type { Feature } from '../feature.ts'
import { useWords } from '../messages.ts'
import { sessionQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { features } from './features.ts'
import { useAppText } from './text.ts'

const KEY = 'berth.limits'

/** A line about limits that are used up to four fifths, until it is hidden or other limits join them. */
export function Limits() {
  const t = useAppText()
  const shown = useLimitValue()
  const inWords = useWords()
  const [hidden, setHidden] = useState(readHidden)
  const { data: account } = useQuery(sessionQuery)
  const near = account ? nearlyUsed(account) : []
  if (!account || near.length === 0) return null
  const about = `${account.account_id} ${near.map(({ name, limit }) => `${name}=${limit}`).join(' ')}`
  if (about === hidden) return null
  const hide = () => {
    setHidden(about)
    writeHidden(about)
  }
  const each = near.map(
    ({ name, title, used, limit }) => `${inWords(title)} ${shown(name, used)} / ${shown(name, limit)}`,
  )
  return (
    <div className="connection announcement" data-tone="plain">
      <span>{t.nearLimits(each.join(', '))}</span>
      <Link to="/account">{t.raiseLimits}</Link>
      <Button onClick={hide}>{t.hide}</Button>
    </div>
  )
}

/** Finds the limits that are nearly used up, except for small ones that payments don't raise. */
function nearlyUsed({ quotas, limit_reasons: reasons }: Account) {
  const limits = features.flatMap((feature: Feature) => feature.quotas ?? [])
  return limits
    .map(({ name, title }) => ({ name, title, ...quotas[name] }))
    .filter(({ name, used, limit }) => {
      const isNews = limit >= 5 || reasons[name].next !== null
      return isNews && used > 0 && used * 5 >= limit * 4
    })
}

function readHidden(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

function writeHidden(about: string): void {
  try {
    localStorage.setItem(KEY, about)
  } catch {
    // In a browser without storage, the line is hidden until a reload.
  }
}
