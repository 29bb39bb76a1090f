import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, NetworkWorld } from './test-world.ts'

const FAR = '192.0.2.80'
const PORTS = ['127.0.0.1', 24_001] as const

/** Each run kills at moments of its own; BERTH_TEST_SEED repeats a failed run. */
const seed = Number(process.env.BERTH_TEST_SEED ?? Date.now() % 1e6)

/** Returns this many moments in ms up to the highest: one at the beginning, the others by the seed. */
function moments(count: number, most: number): number[] {
  const digits = createHash('sha256').update(String(seed)).digest()
  return Array.from({ length: count }, (_, at) => (at === 0 ? 0 : ((digits[at] ?? 0) * most) / 255))
}

async function run([program = '', ...args]: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout
}

describe.runIf(process.getuid?.() === 0).each(['root', 'user'] as const)(
  `what is killed of a service that is %s, with BERTH_TEST_SEED=${seed}`,
  (as) => {
    let world: NetworkWorld
    let one: Agent
    let member: number
    beforeAll(async () => {
      world = await NetworkWorld.open(as)
      one = await world.guest(1)
      await world.guest(2)
      member = await world.member()
    })
    afterAll(() => world?.close())

    /** Starts a new process of the service, for which these machines are on. */
    async function restart(cards: ReturnType<NetworkWorld['card']>[]): Promise<void> {
      await world.service.end('SIGKILL')
      await world.startService(
        world.dataDir,
        cards.map((card) => ({ pid: member, card })),
      )
    }

    test('a namespace that only its machines hold is found through them, and they keep their network', async () => {
      await restart([world.card(1), world.card(2)])
      await world.loseNamespace()
      expect(await one.reach('tcp', FAR, 80)).toMatch(/from/)
      expect((await world.service.tell<string[]>({ do: 'look' })).join()).toContain('its namespace')
      expect(await one.reach('tcp', FAR, 80)).toMatch(/from/)
      expect(await world.host.reach('tcp', ...PORTS)).toMatch(/from/)
      expect(await world.service.tell({ do: 'look' })).toEqual([])
    })

    test('a service killed in the middle of a change leaves the old state or the new one, never a mix', async () => {
      const before = [world.card(1), world.card(2)] as const
      const port = { protocol: 'tcp', hostPort: 24_009, port: 80 } as const
      const after = [
        world.card(1, { isCut: true, maySendMail: true, ports: [] }),
        world.card(2, { ports: [port] }),
      ] as const
      /** Checks whether the first machine is cut off and may send mail, and where both are published. */
      const held = async (inside: readonly string[]) => {
        const text = await run([...inside, 'nft', 'list', 'table', 'inet', 'berth'])
        const within = (set: string) => new RegExp(`(set|map) ${set} {[^}]*{([^}]*)`).exec(text)?.[2] ?? ''
        return [
          within('cut').includes('"g1"'),
          within('smtp').includes('"g1"'),
          !within('ports').includes('. 24001 '),
          within('ports').includes('. 24009 '),
        ].join()
      }
      const [old, fresh] = ['false,false,false,false', 'true,true,true,true']
      await restart([...before])
      expect(await held(await world.inside())).toBe(old)
      // The moments range from before nft starts until after it has ended.
      for (const delay of moments(4, 20)) {
        const inside = await world.inside()
        const change = world.service.tell({ do: 'change', card: after[0], and: after[1] }).catch(() => {})
        await sleep(delay)
        await world.service.end('SIGKILL')
        await change
        expect([old, fresh]).toContain(await held(inside))
        await restart([...after])
        expect(await held(await world.inside())).toBe(fresh)
        expect(await one.ask('tcp', FAR, 80)).not.toMatch(/from/)
        await world.service.tell({ do: 'change', card: before[0], and: before[1] })
        expect(await held(await world.inside())).toBe(old)
      }
      expect(await one.reach('tcp', FAR, 80)).toMatch(/from/)
    })

    test('a service killed while it adds a machine leaves no unknown card, and no open port', async () => {
      const known = [world.card(1), world.card(2)]
      const cards = async () => (await run([...(await world.inside()), 'ip', '-o', 'link'])).match(/ g\d+/g)
      for (const delay of moments(2, 15)) {
        await restart(known)
        const attach = world.service.tell({ do: 'attach', card: world.card(3) }).catch(() => {})
        await sleep(delay)
        await world.service.end('SIGKILL')
        await attach
        await restart(known)
        await world.service.tell({ do: 'look' })
        expect(await cards()).toEqual([' g1', ' g2'])
        expect(await world.host.ask('tcp', '127.0.0.1', 24_003)).not.toMatch(/from/)
      }
    })

    test('a service killed while it removes a machine leaves all of its network or none, and the next cleans up', async () => {
      const known = [world.card(1), world.card(2)]
      const ofThird = async (inside: readonly string[]) => {
        const links = await run([...inside, 'ip', '-o', 'link'])
        const rules = await run([...inside, 'nft', 'list', 'table', 'inet', 'berth'])
        return { isCard: / g3:/.test(links), named: new Set(rules.match(/"?g3"? |\. 24003 |_g3\b/g)).size }
      }
      for (const delay of moments(4, 25)) {
        await restart(known)
        await world.service.tell({ do: 'attach', card: world.card(3) })
        const inside = await world.inside()
        const whole = (await ofThird(inside)).named
        expect(whole).toBeGreaterThan(0)
        const detach = world.service.tell({ do: 'detach', serverId: 'm3' }).catch(() => {})
        await sleep(delay)
        await world.service.end('SIGKILL')
        await detach
        // All elements come in one transaction, before the card.
        expect([0, whole]).toContain((await ofThird(inside)).named)
        await restart(known)
        await world.service.tell({ do: 'look' })
        expect(await ofThird(await world.inside())).toEqual({ isCard: false, named: 0 })
        expect(await one.reach('tcp', FAR, 80)).toMatch(/from/)
        expect(await world.host.ask('tcp', '127.0.0.1', 24_003)).not.toMatch(/from/)
      }
    })
  },
)
