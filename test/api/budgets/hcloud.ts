import { hcloudApp } from '../hcloud/harness.ts'
import type { Meter } from './meter.ts'

/** Uses the requests that hcloud's tools send most: a list of servers, and polls of an action. */
export async function walkHcloud(meter: Meter): Promise<void> {
  const t = await hcloudApp()
  const order = { name: 'web', server_type: 'nano', image: 'micro' }
  const { action } = (await t.ask('POST', '/servers', order)).body
  const poll = () => t.ask('GET', `/actions?id=${action.id}`)
  await poll()
  await meter.note('GET /hcloud/v1/actions of one id that is running', poll)
  await t.finish()
  for (const path of ['/servers', '/servers?name=web']) await t.ask('GET', path)
  await meter.note('GET /hcloud/v1/servers', () => t.ask('GET', '/servers'))
  await poll()
  // Its token is read, and nothing else.
  await meter.note('GET /hcloud/v1/actions of one id that has ended', poll)
}
