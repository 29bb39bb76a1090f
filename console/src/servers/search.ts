import { type Server, serverStatuses } from '@berth/sdk'
import { readOffset } from '../routes.ts'

/** The filters in the list's address, so that a link shows a colleague the same list. */
export interface ServersSearch {
  q?: string
  status?: Server['status']
  zone?: string
  project?: string
  label?: string
  offset?: number
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)

export function readServersSearch(search: Record<string, unknown>): ServersSearch {
  const status = serverStatuses.find((candidate) => candidate === search.status)
  const [q, zone, project, label] = [search.q, search.zone, search.project, search.label].map(text)
  return {
    ...(q ? { q } : {}),
    ...(status ? { status } : {}),
    ...(zone ? { zone } : {}),
    ...(project ? { project } : {}),
    ...(label ? { label } : {}),
    ...readOffset(search),
  }
}

/** The filters for the API; the page applies `q` to the reply. */
export const filterOf = ({ status, zone, project, label, offset }: ServersSearch) => ({
  ...(status ? { status } : {}),
  ...(zone ? { zone_slug: zone } : {}),
  ...(project ? { project_id: project } : {}),
  ...(label ? { label } : {}),
  ...(offset ? { offset } : {}),
})
