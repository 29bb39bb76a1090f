import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'
import { Note } from '../ui/states.tsx'
import { useSecurityText } from './security-text.ts'

/** The codes are shown only once, to be copied or saved as a file. */
export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const t = useSecurityText()
  const text = codes.join('\n')
  return (
    <div className="stack">
      <Note tone="warn">{t.codesOnce}</Note>
      <Command text={text} />
      <div className="row">
        <Button kind="primary" onClick={onDone}>
          {t.codesKept}
        </Button>
        <a
          className="button"
          download={`${location.hostname}-recovery-codes.txt`}
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`}
        >
          {t.download}
        </a>
      </div>
    </div>
  )
}
