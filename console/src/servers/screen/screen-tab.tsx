import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useMay } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Failed, Note } from '../../ui/states.tsx'
import { useUiText } from '../../ui/text.ts'
import { useServer } from '../details/use-server.ts'
import { useTerminalText } from '../terminal/text.ts'
import { useOpened } from '../terminal/use-opened.ts'
import { openPicture, type Picture } from './picture.ts'
import { useScreenText } from './text.ts'

/** A restart ends the connection; the next one waits until the server is on. */
const RESTART_MS = 2_000
const LONGEST_TEXT = 4_000

export function ScreenTab() {
  const t = useScreenText()
  const words = useTerminalText()
  const ui = useUiText()
  const { server_id, allowed_actions } = useServer()
  const may = useMay('servers:write')
  const isOn = may && allowed_actions.includes('console')
  const [attempt, setAttempt] = useState(0)
  const [isTyping, setIsTyping] = useState(false)
  const { place, state } = useOpened(openPicture, { serverId: server_id, isOn, attempt })
  const picture = typeof state === 'object' && 'shown' in state ? state.shown : null
  const ending = typeof state === 'object' && 'ending' in state ? state.ending : null
  const error = typeof state === 'object' && 'error' in state ? state.error : null
  const again = () => setAttempt((before) => before + 1)
  useEffect(() => {
    if (ending !== 'server_off' || !isOn) return
    const timer = setTimeout(() => setAttempt((before) => before + 1), RESTART_MS)
    return () => clearTimeout(timer)
  }, [ending, isOn])
  const endings: Readonly<Record<string, string>> = words.endings
  if (!may) return <Note>{ui.readOnlyAbout}</Note>
  if (!isOn) return <Note>{t.off}</Note>
  return (
    <div className="stack">
      <div className="row between">
        <span className="muted" role="status">
          {picture
            ? t.connected
            : ending !== null
              ? (endings[ending] ?? ending)
              : error
                ? ''
                : words.connecting}
        </span>
        <span className="row">
          {ending !== null || error ? (
            <Button kind="primary" icon="restart" onClick={again}>
              {words.again}
            </Button>
          ) : null}
          <Button disabled={!picture} onClick={() => picture?.pressCtrlAltDel()}>
            {t.ctrlAltDel}
          </Button>
          <Button disabled={!picture} onClick={() => setIsTyping(true)}>
            {t.paste}
          </Button>
          <Button icon="expand" onClick={() => void place.current?.requestFullscreen()}>
            {words.fullScreen}
          </Button>
        </span>
      </div>
      {error ? <Failed error={error} /> : null}
      <section className="screen" aria-label={t.screen} ref={place} />
      {isTyping && picture ? <TypeText picture={picture} onClose={() => setIsTyping(false)} /> : null}
    </div>
  )
}

function TypeText({ picture, onClose }: { picture: Picture; onClose: () => void }) {
  const t = useScreenText()
  const [text, setText] = useState('')
  const typing = useMutation({ mutationFn: () => picture.type(text) })
  return (
    <Dialog title={t.paste} onClose={onClose}>
      <Form
        submit={t.type}
        mutation={typing}
        isReady={text !== ''}
        onCancel={onClose}
        onSubmit={() => typing.mutate(undefined, { onSuccess: onClose })}
      >
        <TextArea
          label={t.text}
          hint={t.pasteAbout}
          rows={5}
          maxLength={LONGEST_TEXT}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </Form>
    </Dialog>
  )
}
