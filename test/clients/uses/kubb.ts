// This code must compile with kubb's client.
import { createServer, rebootServer, type ServerCreate, updateServer } from '../generated/kubb/index.ts'

export async function life(order: ServerCreate): Promise<string> {
  const made = await createServer(order)
  await rebootServer(made.server_id, {})
  await updateServer(made.server_id, { name: 'renamed' })
  return made.status
}
