import { Berth } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

const { items } = await berth.servers.list({ name: 'sdk-1' })
for (const { server_id } of items) {
  await berth.operations.wait(await berth.servers.stop(server_id, { timeout_seconds: 30 }))
  await berth.operations.wait(await berth.servers.update(server_id, { cpu: 2, ram_mb: 1024 }))
  await berth.operations.wait(await berth.servers.start(server_id))
  const server = await berth.servers.get(server_id)
  console.log(`${server.name} is ${server.status} with ${server.cpu} cores`)
}
