import { hcloudApp } from '../hcloud/harness.ts'
import type { Meter } from './meter.ts'

/** Uses the requests that hcloud's tools send most: a list of servers, and polls of an action. */
export async function walkHcloud(meter: Meter): Promise<void> {
  const t = await hcloudApp()
  const { action } = await t.act('POST', '/servers', { name: 'web', server_type: 'nano', image: 'micro' })
  for (const path of ['/servers', '/servers?name=web', `/actions?id=${action.id}`]) await t.ask('GET', path)
  await meter.note('GET /hcloud/v1/servers', () => t.ask('GET', '/servers'))
  await meter.note('GET /hcloud/v1/actions of one id', () => t.ask('GET', `/actions?id=${action.id}`))
}
