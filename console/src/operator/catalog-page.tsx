import type { CatalogText, CheckedCatalog } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { TextArea } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { Failed, Loaded, Note } from '../ui/states.tsx'
import { useCatalogText } from './catalog-text.ts'
import { catalogQuery } from './queries.ts'

/** The catalogue in force, which operators edit, check and replace. */
export function CatalogPage() {
  const t = useCatalogText()
  const query = useQuery(catalogQuery)
  const [isReplaced, setIsReplaced] = useState(false)
  return (
    <Page title={t.catalog} about={t.about}>
      {isReplaced ? <Note>{t.replaced}</Note> : null}
      <Loaded query={query}>
        {(inForce) => <Editor key={inForce.hash} inForce={inForce} onReplaced={setIsReplaced} />}
      </Loaded>
    </Page>
  )
}

interface EditorProps {
  inForce: CatalogText
  /** False as soon as it is edited again. */
  onReplaced: (isReplaced: boolean) => void
}

function Editor({ inForce, onReplaced }: EditorProps) {
  const t = useCatalogText()
  const format = useFormats()
  const [text, setText] = useState(inForce.text)
  const check = useMutation({ mutationFn: () => berth.operator.checkCatalog({ text }) })
  const edit = (next: string) => {
    setText(next)
    onReplaced(false)
    check.reset()
  }
  const isEdited = text !== inForce.text
  return (
    <div className="stack">
      <p className="muted">{t.since(format.exact(inForce.in_force_since))}</p>
      {inForce.errors.length > 0 ? (
        <Note tone="warn">
          {t.fileFaults}
          <Lines lines={inForce.errors} />
        </Note>
      ) : null}
      <Form submit={t.check} mutation={check} onSubmit={() => check.mutate()}>
        <TextArea
          label={t.text}
          hint={t.textHint}
          rows={28}
          maxLength={100_000}
          wrap="off"
          value={text}
          onChange={(event) => edit(event.target.value)}
        />
      </Form>
      {check.data ? (
        <Outcome checked={check.data} text={text} hash={inForce.hash} onReplaced={onReplaced} />
      ) : null}
      {isEdited ? (
        <div className="row">
          <Button onClick={() => void reload().then(() => edit(inForce.text))}>{t.discard}</Button>
        </div>
      ) : null}
    </div>
  )
}

const reload = () => queryClient.invalidateQueries({ queryKey: catalogQuery.queryKey })

interface OutcomeProps {
  checked: CheckedCatalog
  text: string
  /** The hash of the text that this one was made from. */
  hash: string
  onReplaced: EditorProps['onReplaced']
}

/** The mistakes or, if there are none, the changes and the button that makes them. */
function Outcome({ checked, text, hash, onReplaced }: OutcomeProps) {
  const t = useCatalogText()
  const replace = useMutation({
    mutationFn: () => berth.operator.replaceCatalog({ text, hash }),
    onSuccess: async () => {
      await reload()
      onReplaced(true)
    },
  })
  const { is_valid, errors, differences, unchecked_sources: unchecked } = checked
  if (!is_valid)
    return (
      <Note tone="bad">
        <strong>{t.faults}</strong>
        <Lines lines={errors} />
      </Note>
    )
  if (differences.length === 0) return <Note>{t.noDifferences}</Note>
  return (
    <section className="card stack" aria-label={t.differences}>
      <h2>{t.differences}</h2>
      <Lines lines={differences} />
      {unchecked.length > 0 ? <Note tone="warn">{t.unchecked(unchecked.join(', '))}</Note> : null}
      <p>{t.replaceAbout}</p>
      {replace.error ? <Failed error={replace.error} /> : null}
      <div className="row">
        <Button kind="primary" isBusy={replace.isPending} onClick={() => replace.mutate()}>
          {t.replace}
        </Button>
      </div>
    </section>
  )
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <ul>
      {[...new Set(lines)].map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}
