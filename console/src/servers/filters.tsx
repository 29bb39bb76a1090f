import { useQuery } from '@tanstack/react-query'
import type { RefObject } from 'react'
import { projectsQuery } from '../account/queries.ts'
import { Select } from '../ui/field.tsx'
import { SearchInput } from '../ui/search-input.tsx'
import { zonesQuery } from './queries.ts'
import { readServersSearch, type ServersSearch } from './search.ts'
import { useServersText } from './text.ts'

interface FiltersProps {
  search: ServersSearch
  box: RefObject<HTMLInputElement | null>
  onChange: (search: ServersSearch) => void
}

/** All filters are in the page's address; empty ones are left out. */
export function Filters({ search, box, onChange }: FiltersProps) {
  const t = useServersText()
  const zones = useQuery(zonesQuery).data ?? []
  const projects = useQuery(projectsQuery).data?.items ?? []
  const change = (part: { [name in keyof ServersSearch]?: string }) =>
    onChange(readServersSearch({ ...search, offset: undefined, ...part }))
  const statuses = Object.entries(t.statuses).map(([value, title]) => ({ value, title }))
  const zoneOptions = zones.map(({ zone_slug, title }) => ({ value: zone_slug, title }))
  const projectOptions = projects.map(({ project_id, name }) => ({ value: project_id, title: name }))
  return (
    <search className="row filters">
      <input
        ref={box}
        type="search"
        className="input"
        aria-label={t.filter}
        placeholder={t.filter}
        value={search.q ?? ''}
        onChange={(event) => change({ q: event.target.value })}
      />
      <Choice
        label={t.anyStatus}
        value={search.status}
        options={statuses}
        onChange={(status) => change({ status })}
      />
      {zones.length > 1 ? (
        <Choice
          label={t.anyZone}
          value={search.zone}
          options={zoneOptions}
          onChange={(zone) => change({ zone })}
        />
      ) : null}
      {projects.length > 1 ? (
        <Choice
          label={t.anyProject}
          value={search.project}
          options={projectOptions}
          onChange={(project) => change({ project })}
        />
      ) : null}
      <SearchInput label={t.labels} value={search.label ?? ''} onChange={(label) => change({ label })} />
    </search>
  )
}

interface ChoiceProps {
  label: string
  value: string | undefined
  options: readonly { value: string; title: string }[]
  onChange: (value: string) => void
}

/** A filter that may be left open. */
export function Choice({ label, value = '', options, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      value={value}
      options={[{ value: '', title: label }, ...options]}
      onChange={onChange}
    />
  )
}
