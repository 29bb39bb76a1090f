import { Berth } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

// Names on offer: berth.zones.list(), berth.templates.list() and berth.presets.list({ zone_slug, cpu_type }).
const server = await berth.servers.create({
  name: 'sdk-1',
  zone_slug: 'local-1',
  cpu_type: 'amd',
  template: 'micro',
  plan_type: 'preset',
  preset: 'nano',
})
const operation = await berth.operations.wait(server, {
  onProgress: ({ progress }) => console.error(`${progress}%`),
})
const { ssh } = await berth.servers.details(server.server_id)
console.log(`${operation.type} ${operation.status}`)
console.log(ssh.command)
