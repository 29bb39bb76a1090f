import path from 'node:path'
import { test } from 'vitest'
import { order } from '../api/harness/ordering.ts'
import { catalogWith } from '../harness/addresses.ts'
import { launch } from './chromium.ts'
import { type Console, serveConsole } from './console.ts'

const HOUR = 3600_000
const SAMPLE_SECONDS = 10
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9iQ9m0a1bVJt5y5Z3m0Zk0qkq2u3v4w5x6y7z8a9b0 ann@laptop'

/** Servers of a small shop, oldest first: name, preset, template, label, age in hours. */
const SERVERS = [
  ['staging', 0, 'micro', 'test', 400],
  ['build-1', 3, 'alma-9', 'test', 310],
  ['worker-1', 3, 'debian-12', 'prod', 150],
  ['db-1', 4, 'debian-13', 'prod', 70],
  ['web-2', 2, 'debian-12', 'prod', 26],
  ['web-1', 2, 'debian-12', 'prod', 3],
] as const

/** @returns the id of the newest */
async function furnish(t: Console): Promise<string> {
  const { ssh_key_id } = (await t.call('POST', '/account/ssh_keys', { name: 'ann@laptop', public_key: KEY }))
    .body
  const presets = (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  const templates = (await t.call('GET', '/templates')).body
  const now = t.clock.now() + 400 * HOUR
  let id = ''
  for (const [name, preset, slug, env, hours] of SERVERS) {
    t.clock.advance(Math.max(0, now - hours * HOUR - t.clock.now()))
    const { status, body } = await t.call(
      'POST',
      '/servers',
      await order(t.call, {
        name,
        template_id: templates.find((template: { slug: string }) => template.slug === slug).template_id,
        preset_id: presets[preset].preset_id,
        ssh_key_ids: [ssh_key_id],
        labels: { env },
        enable_ipv4: true,
      }),
    )
    if (status !== 202) throw new Error(JSON.stringify(body))
    await t.finish()
    id = body.server_id
    if (name === 'staging') await t.call('POST', `/servers/${id}/stop`)
    await t.finish()
  }
  t.clock.advance(Math.max(0, now - HOUR - t.clock.now()))
  while (t.clock.now() < now) {
    t.clock.advance(SAMPLE_SECONDS * 1000)
    await t.app.sampler.round()
  }
  return id
}

// BERTH_PICTURES=1 npm test -- --project browser pictures
test.runIf(process.env.BERTH_PICTURES)("renews README's pictures of the console", async () => {
  const catalog = catalogWith('public_ipv4: [203.0.113.0/24]\npublic_ipv6: 2001:db8::/48')
  const t = await serveConsole({ catalog, sampleSeconds: SAMPLE_SECONDS })
  const id = await furnish(t)
  const browser = await launch()
  try {
    for (const [name, place] of Object.entries({
      servers: '/servers',
      create: '/servers/new',
      server: `/servers/${id}`,
    })) {
      const page = await t.open(browser, {
        viewport: { width: 1280, height: 768 },
        deviceScaleFactor: 1.5,
        colorScheme: name === 'server' ? 'dark' : 'light',
      })
      await page.clock.setFixedTime(t.clock.now())
      await page.goto(t.address + place)
      await page.getByRole('heading', { level: 1 }).waitFor()
      // The stream of events is never idle.
      await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
      await page.screenshot({ path: path.join('docs/images', `${name}.png`) })
    }
  } finally {
    await browser.close()
  }
})
