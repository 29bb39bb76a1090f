import { useState } from 'react'
import { useMay } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { Failed, Note } from '../../ui/states.tsx'
import { useUiText } from '../../ui/text.ts'
import { useServer } from '../details/use-server.ts'
import { openTerminal } from './terminal.ts'
import { useTerminalText } from './text.ts'
import { useOpened } from './use-opened.ts'

export function TerminalTab() {
  const t = useTerminalText()
  const { server_id, allowed_actions } = useServer()
  const words = useUiText()
  const may = useMay('servers:write')
  const isOn = may && allowed_actions.includes('console')
  const [attempt, setAttempt] = useState(0)
  const { place, state } = useOpened(openTerminal, { serverId: server_id, isOn, attempt })
  const endings: Readonly<Record<string, string>> = t.endings
  const isConnected = typeof state === 'object' && 'shown' in state
  const isOver = typeof state === 'object' && !isConnected
  if (!may) return <Note>{words.readOnlyAbout}</Note>
  if (!isOn) return <Note>{t.off}</Note>
  return (
    <div className="stack">
      <div className="row between">
        <span className="muted" role="status">
          {state === 'connecting' ? t.connecting : isConnected ? t.connected : ''}
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
