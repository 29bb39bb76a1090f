// This code must compile with swagger-typescript-api's client: its methods are grouped by the first part of the path.
import { Api, type ServerCreate } from '../generated/swagger-typescript-api/api.ts'

const { servers } = new Api()

export async function life(order: ServerCreate): Promise<string> {
  const { data } = await servers.createServer(order)
  await servers.rebootServer(data.server_id, {})
  await servers.stopServer(data.server_id, { force: true })
  await servers.updateServer(data.server_id, { name: 'renamed' })
  return data.status
}
