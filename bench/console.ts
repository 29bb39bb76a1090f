import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { CDPSession, Page } from 'playwright-core'
import { Berth, type ServerCreate } from '../sdk/index.ts'
import { launch } from '../test/browser/chromium.ts'

interface Ports {
  berth: number
  token: string
  order: ServerCreate
}

const SERVERS = 200
const SLOWED = 4
/** The number of visible rows. */
const SCREEN = 20
const EVENTS = 250
const EVENTS_MS = 15_000

/**
 * Measures what the console costs its readers: bytes of JavaScript, the time until 200 servers can be used on a slow
 * processor, and the share of a core that a stream of events takes.
 */
export async function benchConsole(rounds: number): Promise<void> {
  const server = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  const browser = await launch()
  try {
    const [{ berth: port, token, order }] = (await once(server, 'message')) as [Ports] // the first message of bench/server.ts
    const address = `http://127.0.0.1:${port}`
    const berth = new Berth({ baseUrl: `${address}/v1`, token })
    await Promise.all(
      Array.from({ length: SERVERS }, (_, at) => berth.servers.create({ ...order, name: `server-${at}` })),
    )
    const headers = { authorization: `Bearer ${token}` }
    const stranger = await browser.newPage()
    const sign = await scriptBytes(stranger, `${address}/sign-in`, 'h1')
    console.log(`sign-in page: ${kb(sign)} KB of JavaScript (at most 120)`)
    const reader = await browser.newPage({ extraHTTPHeaders: headers })
    const list = await scriptBytes(reader, `${address}/servers`, 'tbody tr')
    console.log(`servers page: ${kb(list)} KB of JavaScript (at most 250)`)
    const times: { clockMs: number; computedMs: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const page = await browser.newPage({ extraHTTPHeaders: headers })
      times.push(await timeToUse(page, `${address}/servers`))
      await page.close()
    }
    const [best] = times.toSorted((a, b) => a.computedMs - b.computedMs)
    console.log(
      `servers page with ${SERVERS} servers, processor ${SLOWED} times slower: ${best?.computedMs.toFixed(0)} ms computed, ${best?.clockMs.toFixed(0)} ms by the clock of a machine that others use (at most 2000)`,
    )
    const share = await costOfEvents(reader, berth)
    console.log(`1,000 events a minute: ${(share * 100).toFixed(1)} % of a core (at most 10)`)
  } finally {
    await browser.close()
    server.disconnect()
    await once(server, 'exit')
  }
}

const kb = (bytes: number) => (bytes / 1000).toFixed(0)

/** Bytes received over the wire, compressed. */
async function scriptBytes(page: Page, url: string, shown: string): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const scripts = new Set<string>()
  let bytes = 0
  session.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId))
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) bytes += encodedDataLength
  })
  await page.goto(url, { waitUntil: 'networkidle' }).catch(() => null)
  await page.locator(shown).first().waitFor()
  return bytes
}

/** Measures the time until a screen of rows is shown and a key selects the first. */
async function timeToUse(page: Page, url: string): Promise<{ clockMs: number; computedMs: number }> {
  const session = await page.context().newCDPSession(page)
  await countThread(session)
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWED })
  const begun = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('tbody tr').nth(SCREEN).waitFor()
  await page.keyboard.press('j')
  await page.locator('tbody tr[data-current=true]').waitFor()
  const clockMs = performance.now() - begun
  return { clockMs, computedMs: (await busySeconds(session)) * 1000 }
}

async function costOfEvents(page: Page, berth: Berth): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await countThread(session)
  const { items } = await berth.servers.list({ limit: 50 })
  const before = await busySeconds(session)
  const begun = performance.now()
  for (let at = 0; at < EVENTS; at += 1) {
    const server = items[at % items.length]
    if (server) await berth.servers.update(server.server_id, { description: `change ${at}` })
    const due = begun + (at * EVENTS_MS) / EVENTS
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
  }
  const spent = (await busySeconds(session)) - before
  return spent / ((performance.now() - begun) / 1000)
}

/**
 * The CPU time of the page's own thread: other work on the machine does not count, and the slowdown of the processor
 * does.
 */
async function countThread(session: CDPSession): Promise<void> {
  await session.send('Performance.setTimeDomain', { timeDomain: 'threadTicks' })
  await session.send('Performance.enable')
}

async function busySeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}
