import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'
import { Note } from '../ui/states.tsx'
import { useAccountText } from './text.ts'

/** A secret that was just created and can't be seen again. */
export function ShownOnce({ note, text, onDone }: { note: string; text: string; onDone: () => void }) {
  const t = useAccountText()
  return (
    <div className="stack">
      <Note tone="warn">{note}</Note>
      <Command text={text} />
      <div>
        <Button kind="primary" onClick={onDone}>
          {t.done}
        </Button>
      </div>
    </div>
  )
}
