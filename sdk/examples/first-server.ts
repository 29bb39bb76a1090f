import { Berth } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

const [zone] = await berth.zones.list()
const templates = await berth.templates.list()
const template = templates.find(({ slug }) => slug === 'micro')
const cpu_type = zone?.cpu_types[0]
if (!zone || !template || !cpu_type) throw new Error('Nothing is on offer.')
const [preset] = await berth.presets.list({ zone_slug: zone.zone_slug, cpu_type })

const server = await berth.servers.create({
  name: 'sdk-1',
  zone_slug: zone.zone_slug,
  cpu_type,
  template_id: template.template_id,
  plan_type: 'preset',
  preset_id: preset?.preset_id,
})
const operation = await berth.operations.wait(server, {
  onProgress: ({ progress }) => console.error(`${progress}%`),
})
const { ssh } = await berth.servers.details(server.server_id)
console.log(`${operation.type} ${operation.status}`)
console.log(ssh.command)
