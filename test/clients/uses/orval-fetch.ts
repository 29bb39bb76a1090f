// This code must compile with orval's client: a reply is narrowed by its status, a problem by its code.
import { createServer, rebootServer, type ServerCreate, updateServer } from '../generated/orval-fetch/api.ts'

export async function life(order: ServerCreate): Promise<string> {
  const made = await createServer(order)
  if (made.status !== 202) return made.data.code === 'quota_exceeded' ? made.data.quota.name : made.data.code
  await rebootServer(made.data.server_id, {})
  await updateServer(made.data.server_id, { name: 'renamed' })
  return made.data.status
}
