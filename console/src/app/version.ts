import { useEffect, useState } from 'react'

const INTERVAL_MS = 5 * 60_000

/** The script of the page, whose name contains the hash of the whole build. */
const scriptOf = (page: Document) => page.querySelector('script[type=module][src]')?.getAttribute('src')

/** True if the service has another build of the console than this tab. */
export function useIsOutdated(): boolean {
  const [isOutdated, setIsOutdated] = useState(false)
  useEffect(() => {
    const present = scriptOf(document)
    const look = async () => {
      if (document.hidden) return
      const reply = await fetch('/', { headers: { accept: 'text/html' } }).catch(() => null)
      if (!reply?.ok) return
      const script = scriptOf(new DOMParser().parseFromString(await reply.text(), 'text/html'))
      if (script && script !== present) setIsOutdated(true)
    }
    const timer = setInterval(() => void look(), INTERVAL_MS)
    const shown = () => void look()
    // Parts of the page that are loaded on demand are removed with their build.
    const missing = () => setIsOutdated(true)
    document.addEventListener('visibilitychange', shown)
    window.addEventListener('vite:preloadError', missing)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', shown)
      window.removeEventListener('vite:preloadError', missing)
    }
  }, [])
  return isOutdated
}
