import { Berth } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

// Starts after the oldest stored event; without `after` it would start with the next new one.
const { items } = await berth.events.list({ limit: 1 })
for await (const { type, data } of berth.events({ after: items[0]?.event_id })) {
  if (type === 'operation.succeeded') console.log(`${data.type}: done`)
  if (type === 'project.created') break
}
