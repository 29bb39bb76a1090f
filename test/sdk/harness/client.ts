import { Berth, type BerthOptions, type Server, type ServerCreate } from '../../../sdk/index.ts'
import { type TestApp, testApp } from '../../harness/app.ts'

export interface Service extends TestApp {
  /** Where it listens, up to and with /v1. */
  baseUrl: string
  token: string
  /** A client that has every scope; its pauses turn the service's clock. */
  berth: Berth
  client(options?: Partial<BerthOptions>): Berth
  /** An order that the service takes. */
  order(): Promise<ServerCreate>
  /** A server that runs. */
  make(name?: string): Promise<Server>
}

/** The real service on a port of its own, and a client of it. */
export async function service(options: Parameters<typeof testApp>[0] = {}): Promise<Service> {
  const t = await testApp(options)
  const baseUrl = `${await t.app.http.listen({ port: 0, host: '127.0.0.1' })}/v1`
  const token = await t.makeToken(['account:read', 'account:write', 'servers:read', 'servers:write'])
  const sleep: BerthOptions['sleep'] = async (ms) => t.clock.advance(ms)
  const client = (own: Partial<BerthOptions> = {}) => new Berth({ baseUrl, token, sleep, ...own })
  const berth = client()
  const order = () => anyOrder(berth)
  const make = async (name?: string) => {
    const server = await berth.servers.create({ ...(await order()), name })
    await t.finish()
    return berth.servers.get(server.server_id)
  }
  return { ...t, baseUrl, token, berth, client, order, make }
}

async function anyOrder(berth: Berth): Promise<ServerCreate> {
  const templates = await berth.templates.list()
  const template_id = templates.find(({ slug }) => slug === 'micro')?.template_id ?? 'none'
  const size = { cpu: 1, ram_mb: 512, disk_gb: 5 }
  return { zone_slug: 'local-1', cpu_type: 'amd', template_id, plan_type: 'custom', ...size }
}

/** Turns the service's clock until the promise is settled: what it waits for is carried out meanwhile. */
export async function meanwhile<T>(t: TestApp, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) {
    await t.finish()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return promise
}
