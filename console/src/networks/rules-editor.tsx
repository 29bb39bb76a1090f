import type { Firewall } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Card } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { type Draft, draftOf, emptyDraft, hasPorts, ruleOf } from './rules.ts'
import { useNetworksText } from './text.ts'

interface RulesEditorProps {
  firewall: Firewall
  drafts: readonly Draft[]
  onChange: (drafts: Draft[]) => void
}

/** The editor of all rules, which the API replaces at once. */
export function RulesEditor({ firewall: { firewall_id, rules }, drafts, onChange }: RulesEditorProps) {
  const t = useNetworksText()
  const save = useMutation({
    mutationFn: () => berth.firewalls.update(firewall_id, { rules: drafts.map(ruleOf) }),
    onSuccess: (firewall) => {
      onChange(firewall.rules.map(draftOf))
      return queryClient.invalidateQueries({ queryKey: ['firewall'] })
    },
  })
  const isChanged = JSON.stringify(drafts.map(ruleOf)) !== JSON.stringify(rules)
  const change = (at: number, part: Partial<Draft>) =>
    onChange(drafts.map((draft, own) => (own === at ? { ...draft, ...part } : draft)))
  return (
    <Card title={t.rules}>
      <Guarded scope="servers:write">
        <form
          className="body stack"
          onSubmit={(event) => {
            event.preventDefault()
            save.mutate()
          }}
        >
          <p className="muted">{drafts.length === 0 ? t.noRules : t.rulesAbout}</p>
          {drafts.length > 0 ? (
            <ul className="rules">
              {drafts.map((draft, at) => (
                <RuleRow
                  key={draft.key}
                  draft={draft}
                  number={at + 1}
                  onChange={(part) => change(at, part)}
                  onRemove={() => onChange(drafts.filter(({ key }) => key !== draft.key))}
                />
              ))}
            </ul>
          ) : null}
          {save.error ? <Failed error={save.error} /> : null}
          <div className="row">
            <Button icon="plus" onClick={() => onChange([...drafts, emptyDraft()])}>
              {t.addRule}
            </Button>
            <Button type="submit" kind="primary" disabled={!isChanged} isBusy={save.isPending}>
              {t.save}
            </Button>
            {isChanged ? (
              <>
                <Button kind="quiet" onClick={() => onChange(rules.map(draftOf))}>
                  {t.discard}
                </Button>
                <span className="muted small" role="status">
                  {t.unsaved}
                </span>
              </>
            ) : null}
          </div>
        </form>
      </Guarded>
    </Card>
  )
}

interface RuleRowProps {
  draft: Draft
  number: number
  onChange: (part: Partial<Draft>) => void
  onRemove: () => void
}

function RuleRow({ draft, number, onChange, onRemove }: RuleRowProps) {
  const t = useNetworksText()
  const label = (what: string) => ({ 'aria-label': t.ruleOf(what, number) })
  const protocols = [
    { value: 'tcp', title: 'TCP' },
    { value: 'udp', title: 'UDP' },
    { value: 'icmp', title: 'ICMP' },
    { value: 'any', title: t.any },
  ] as const
  const directions = (['in', 'out'] as const).map((value) => ({ value, title: t.directions[value] }))
  const text = (name: 'ports' | 'ends' | 'description', what: string, placeholder: string) => (
    <label className="cell" data-cell={name}>
      <span className="muted small">{what}</span>
      <input
        className={name === 'description' ? 'input' : 'input mono'}
        autoComplete="off"
        spellCheck={false}
        {...label(what)}
        placeholder={placeholder}
        disabled={name === 'ports' && !hasPorts(draft)}
        value={name === 'ports' && !hasPorts(draft) ? '' : draft[name]}
        onChange={(event) => onChange({ [name]: event.target.value })}
      />
    </label>
  )
  return (
    <li>
      <div className="cell">
        <span className="muted small">{t.direction}</span>
        <Select
          {...label(t.direction)}
          value={draft.direction}
          options={directions}
          onChange={(direction) => onChange({ direction })}
        />
      </div>
      <div className="cell">
        <span className="muted small">{t.protocol}</span>
        <Select
          {...label(t.protocol)}
          value={draft.protocol}
          options={protocols}
          onChange={(protocol) => onChange({ protocol })}
        />
      </div>
      {text('ports', t.ports, t.allPorts)}
      {text('ends', t.ends, t.anywhere)}
      {text('description', t.description, '')}
      <IconButton icon="trash" label={t.removeRule(number)} onClick={onRemove} />
    </li>
  )
}
