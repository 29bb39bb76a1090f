import { useEffect, useRef, useState } from 'react'

/** A console of a server that is shown in an element. */
export interface Opened {
  /** The reason why the connection ended, as the API reports it; null if the user left. */
  ended: Promise<string | null>
  focus(): void
  close(): void
}

type State<Shown> = 'connecting' | { shown: Shown } | { ending: string } | { error: Error }

/**
 * Opens a console in an element while the server is on. Each attempt is another connection.
 * @param open rejects if it can't be opened
 */
export function useOpened<Shown extends Opened>(
  open: (place: HTMLElement, serverId: string) => Promise<Shown>,
  { serverId, isOn, attempt }: { serverId: string; isOn: boolean; attempt: number },
) {
  const place = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<State<Shown>>('connecting')
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another connection
  useEffect(() => {
    const { current } = place
    if (!current || !isOn) return
    let isLeft = false
    let shown: Shown | null = null
    setState('connecting')
    const show = async () => {
      try {
        shown = await open(current, serverId)
        if (isLeft) return shown.close()
        setState({ shown })
        shown.focus()
        const ending = await shown.ended
        if (!isLeft && ending !== null) setState({ ending })
      } catch (error) {
        if (!isLeft) setState({ error: error instanceof Error ? error : new Error(String(error)) })
      }
    }
    void show()
    return () => {
      isLeft = true
      shown?.close()
      current.replaceChildren()
    }
  }, [serverId, isOn, attempt])
  return { place, state }
}
