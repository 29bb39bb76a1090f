import { useEffect, useRef, useState } from 'react'
import { useMay } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { Failed, Note } from '../../ui/states.tsx'
import { useUiText } from '../../ui/text.ts'
import { useServer } from '../details/use-server.ts'
import { openScreen, type Screen } from './screen.ts'
import { useTerminalText } from './text.ts'

type State = 'connecting' | 'connected' | { ending: string } | { error: Error }

/** A screen with the state of its connection. Each attempt has a new screen. */
function useScreen(serverId: string, isOn: boolean, attempt: number) {
  const place = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<State>('connecting')
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another connection
  useEffect(() => {
    const { current } = place
    if (!current || !isOn) return
    let isLeft = false
    let screen: Screen | null = null
    setState('connecting')
    const open = async () => {
      try {
        screen = await openScreen(current, serverId)
        if (isLeft) return screen.close()
        setState('connected')
        screen.focus()
        const ending = await screen.ended
        if (!isLeft && ending !== null) setState({ ending })
      } catch (error) {
        if (!isLeft) setState({ error: error instanceof Error ? error : new Error(String(error)) })
      }
    }
    void open()
    return () => {
      isLeft = true
      screen?.close()
      current.replaceChildren()
    }
  }, [serverId, isOn, attempt])
  return { place, state }
}

export function TerminalTab() {
  const t = useTerminalText()
  const { server_id, allowed_actions } = useServer()
  const words = useUiText()
  const may = useMay('servers:write')
  const isOn = may && allowed_actions.includes('console')
  const [attempt, setAttempt] = useState(0)
  const { place, state } = useScreen(server_id, isOn, attempt)
  const endings: Readonly<Record<string, string>> = t.endings
  const isOver = typeof state === 'object'
  if (!may) return <Note>{words.readOnlyAbout}</Note>
  if (!isOn) return <Note>{t.off}</Note>
  return (
    <div className="stack">
      <div className="row between">
        <span className="muted" role="status">
          {state === 'connecting' ? t.connecting : state === 'connected' ? t.connected : ''}
          {isOver && 'ending' in state ? (endings[state.ending] ?? state.ending) : ''}
        </span>
        <span className="row">
          {isOver ? (
            <Button kind="primary" icon="restart" onClick={() => setAttempt(attempt + 1)}>
              {t.again}
            </Button>
          ) : null}
          <Button icon="expand" onClick={() => void place.current?.requestFullscreen()}>
            {t.fullScreen}
          </Button>
        </span>
      </div>
      {isOver && 'error' in state ? <Failed error={state.error} /> : null}
      <section className="serial" aria-label={t.screen} ref={place} />
    </div>
  )
}
