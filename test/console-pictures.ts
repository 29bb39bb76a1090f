// Takes docs/images/*.png, README's pictures of the web console, again: a real service on the simulator, in Chromium.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Berth, type ServerCreate } from '../sdk/index.ts'
import { launch } from './browser/chromium.ts'

const root = path.resolve(import.meta.dirname, '..')
const folder = path.join(root, 'docs/images')
const data = mkdtempSync(path.join(tmpdir(), 'berth-pictures-'))
const PORT = 18_080
const address = `http://127.0.0.1:${PORT}`
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9iQ9m0a1bVJt5y5Z3m0Zk0qkq2u3v4w5x6y7z8a9b0 ann@laptop'

const service = spawn(process.execPath, [path.join(root, 'api/main.ts'), 'serve', '--port', String(PORT)], {
  env: { ...process.env, BERTH_DATA: data, BERTH_COMPUTE: 'simulator', BERTH_SAMPLE_SECONDS: '1' },
  stdio: 'ignore',
})

async function isUp(): Promise<void> {
  for (let tries = 0; tries < 150; tries += 1) {
    const reply = await fetch(`${address}/readyz`).catch(() => null)
    if (reply?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('the service did not start')
}

/** Servers as a small shop has them. @returns the id of one */
async function furnish(berth: Berth): Promise<string> {
  const key = await berth.sshKeys.create({ name: 'ann@laptop', public_key: KEY })
  const templates = await berth.templates.list()
  const presets = await berth.presets.list({ zone_slug: 'local-1', cpu_type: 'amd' })
  const wanted = [
    ['staging', 0, 0, 'test'],
    ['build-1', 3, 4, 'test'],
    ['worker-1', 3, 1, 'prod'],
    ['db-1', 4, 2, 'prod'],
    ['web-2', 2, 1, 'prod'],
    ['web-1', 2, 1, 'prod'],
  ] as const
  let last = ''
  for (const [name, preset, template, env] of wanted) {
    const order: ServerCreate = {
      name,
      zone_slug: 'local-1',
      cpu_type: 'amd',
      template_id: templates[template]?.template_id ?? '',
      plan_type: 'preset',
      preset_id: presets[preset]?.preset_id,
      ssh_key_ids: [key.ssh_key_id],
      labels: { env },
    }
    const server = await berth.servers.create(order)
    await berth.operations.wait(server)
    last = server.server_id
    if (name === 'staging') await berth.operations.wait(await berth.servers.stop(last))
  }
  return last
}

try {
  await isUp()
  const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
  const id = await furnish(new Berth({ baseUrl: address, token }))
  mkdirSync(folder, { recursive: true })
  const browser = await launch()
  const pages = { servers: '/servers', create: '/servers/new', server: `/servers/${id}` }
  for (const [name, place] of Object.entries(pages)) {
    const page = await browser.newPage({
      viewport: { width: 1280, height: 720 },
      deviceScaleFactor: 1.5,
      colorScheme: name === 'server' ? 'dark' : 'light',
      locale: 'en-US',
      extraHTTPHeaders: { authorization: `Bearer ${token}` },
    })
    await page.goto(address + place)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForTimeout(2_000)
    await page.screenshot({ path: path.join(folder, `${name}.png`) })
    await page.close()
  }
  await browser.close()
} finally {
  service.kill()
  rmSync(data, { recursive: true, force: true })
}
console.log(`${folder} has new pictures. Look at them before you commit them.`)
