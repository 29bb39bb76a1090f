import { expect, test } from 'vitest'
import { deliverAll, delivering, endpoint, LOOPBACK } from '../api/harness/endpoint.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a webhook is created, listed, shown, changed and deleted by its name', async () => {
  const t = await loggedIn()
  await expectSession(t, 'webhook', [
    'webhook create shop --to https://hooks.example/in --event server.created --event server.deleted',
    'webhook create all --to https://hooks.example/all --disable -o json',
    'webhook list',
    'webhook list -o json',
    'webhook list -o name',
    'webhook list --sort secret',
    'webhook show shop',
    'webhook show shop -o json',
    'webhook update shop --name store --event * --disable',
    'webhook update store --enable -o json',
    'webhook update store --enable --disable',
    'webhook update store',
    'webhook create shop',
    'webhook create shop --url https://hooks.example',
    'webhook update shop --url https://hooks.example',
    'webhook create shop --to hooks.example',
    'webhook create shop --to https://hooks.example --event lunch',
    'webhook show shop',
    'webhook test all',
    'webhook test all -o json',
    'webhook test shop',
    'webhook rotate-secret all',
    'webhook rotate-secret all -o json',
    'webhook rotate-secret all -o name',
    'webhook create lost --to https://hooks.example -o name',
    'webhook rotate-secret shop',
    'webhook deliveries all',
    'webhook deliveries all -o json',
    'webhook deliveries shop',
    'webhook delete store',
    'webhook delete store',
  ])
})

test('deliveries of a webhook are listed with their results', async () => {
  const t = await loggedIn({ webhookAllow: LOOPBACK })
  let isDown = false
  const { url } = await endpoint((_, reply) => {
    reply.statusCode = isDown ? 503 : 200
    reply.end('thanks')
  })
  await t.run(`webhook create shop --to ${url} --event project.created`)
  await deliverAll(t)
  await t.berth.projects.create({ name: 'Shop' })
  await deliverAll(t)
  isDown = true
  await t.run('webhook test shop')
  await deliverAll(t)
  const columns = '--columns type,status,attempts,reply,error'
  await expectSession(t, 'deliveries', [
    `webhook deliveries shop ${columns}`,
    `webhook deliveries shop --limit 1 ${columns}`,
  ])
  const [tested] = JSON.parse((await t.run('webhook deliveries shop -o json')).out)
  expect(tested).toMatchObject({
    event_type: 'webhook.test',
    attempts: [{ reply_status: 503, reply: 'thanks' }],
  })
})

test('a webhook is verified once its endpoint answers the challenge, and shows the reason until then', async () => {
  const t = await loggedIn({ webhookAllow: LOOPBACK })
  let isReady = false
  const { url } = await endpoint(
    (_, reply) => reply.end(),
    (value, reply) => void (isReady ? reply : reply.writeHead(401)).end(value),
  )
  const run = (args: string) => delivering(t, t.run(args))
  await t.run(`webhook create shop --to ${url} --disable`)
  await expectSession({ ...t, run }, 'webhook-verify', [
    'webhook verify shop',
    'webhook test shop',
    'webhook show shop',
  ])
  isReady = true
  await expectSession({ ...t, run }, 'webhook-verified', [
    'webhook verify shop',
    'webhook verify shop -o json',
    'webhook test shop',
    'webhook test shop -o json',
    'webhook list --columns name,verification',
  ])
})
