import { lazy, Suspense, useState } from 'react'
import { Button } from './button.tsx'
import type { Example } from './example.ts'
import { useUiText } from './text.ts'

const ShowAsDialog = lazy(async () => ({ default: (await import('./show-as-dialog.tsx')).ShowAsDialog }))

/** A button that shows the page's calls as commands, requests and programs. */
export function ShowAs({ examples }: { examples: readonly Example[] }) {
  const t = useUiText()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button icon="code" kind="quiet" onClick={() => setIsOpen(true)}>
        {t.showAs}
      </Button>
      {isOpen ? (
        <Suspense>
          <ShowAsDialog examples={examples} onClose={() => setIsOpen(false)} />
        </Suspense>
      ) : null}
    </>
  )
}
