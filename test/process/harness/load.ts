import { DriverError } from '../../../api/drivers/driver.ts'
import type { Simulator } from '../../../api/drivers/simulator/simulator.ts'

const CUSTOMERS = 5
const SERVERS = 50
const ACTIONS_EACH = 60

interface LoadOptions {
  seed: number
  driver: Simulator
  /** The body of POST /servers. */
  order: Record<string, unknown>
  request(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    body?: Record<string, unknown>,
  ): Promise<{ body: { items: { server_id: string }[] } }>
}

/** Several customers at once make, start, stop, rebuild and delete servers; now and then a guest turns itself off. */
export async function load({ seed, driver, order, request }: LoadOptions): Promise<void> {
  const random = randomNumbers(seed)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]
  const act = async () => {
    const { items } = (await request('GET', '/servers?limit=200')).body
    const id = pick(items)?.server_id
    const dice = random()
    if (!id || items.length < SERVERS / 2 || (items.length < SERVERS && dice < 0.3))
      return request('POST', '/servers', order)
    if (dice < 0.4) return request('DELETE', `/servers/${id}`)
    if (dice < 0.5) return turnOff(driver, id, pick(['crashed', 'guest_shutdown']) ?? 'crashed')
    if (dice < 0.6) return request('POST', `/servers/${id}/rebuild`, { template_id: order.template_id })
    return request(
      'POST',
      `/servers/${id}/${pick(['start', 'stop', 'reboot', 'reset_password', 'rescue', 'unrescue'])}`,
    )
  }
  const customer = async () => {
    for (let action = 0; action < ACTIONS_EACH; action++) await act()
  }
  await Promise.all(Array.from({ length: CUSTOMERS }, customer))
}

/** Crashes or shuts down the machine if it runs. Another customer may delete it meanwhile. */
async function turnOff(driver: Simulator, id: string, how: 'crashed' | 'guest_shutdown'): Promise<void> {
  const { power } = await driver.inspect(id)
  if (power !== 'running') return
  try {
    driver.turnsOffByItself(id, how)
  } catch (error) {
    if (!(error instanceof DriverError && error.code === 'not_found')) throw error
  }
}

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
