import { createServer } from 'node:http'
import { Berth, readWebhook } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })
const url = process.env.HOOK_URL ?? 'https://example.com/hooks/berth'

// Disabled until the receiver below has its secret.
const { webhook_id, secret } = await berth.webhooks.create({
  name: 'shop',
  url,
  event_types: ['project.created'],
  is_enabled: false,
})

const receiver = createServer(async (request, reply) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const message = await readWebhook({ secret, headers: request.headers, body }).catch(() => null)
  if (message === null) return reply.writeHead(401).end()
  if (message.type === 'webhook.challenge') return reply.end(message.data.challenge)
  reply.end()
  console.log(`${message.type}: ${message.data.name}`)
  receiver.close()
})
receiver.listen(process.env.HOOK_PORT)

const { verification } = await berth.webhooks.verify(webhook_id)
console.log(verification.status)
await berth.projects.create({ name: 'Shop' })
