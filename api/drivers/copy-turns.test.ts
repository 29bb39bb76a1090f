import { expect, test } from 'vitest'
import { ManualClock } from '../../test/harness/clock.ts'
import { CopyTurns } from './copy-turns.ts'

const HOUR = 3600_000

/** A simulated host that copies disks, and records the hours after which each copy had its turn. */
class Host {
  readonly clock = new ManualClock()
  readonly turns = new CopyTurns(this.clock)
  readonly served: [owner: string, hours: number][] = []
  readonly #began = this.clock.now()
  #holder: { hours: number; isMade: boolean } | null = null

  ask(owner: string, hours: number, isMade: boolean, signal = new AbortController().signal): void {
    void this.turns.acquire(owner, signal).then(
      () => {
        this.served.push([owner, (this.clock.now() - this.#began) / HOUR])
        this.#holder = { hours, isMade }
      },
      () => {},
    )
  }

  async step(): Promise<boolean> {
    await new Promise(setImmediate)
    const held = this.#holder
    if (!held) return false
    this.#holder = null
    this.clock.advance(held.hours * HOUR)
    this.turns.release(held.isMade)
    return true
  }

  async run(): Promise<void> {
    while (await this.step());
  }

  hoursOf(owner: string): number[] {
    return this.served.filter(([served]) => served === owner).map(([, hours]) => hours)
  }
}

test('disks that only waste their turns delay others by a single turn, and then go to the end of the queue', async () => {
  const host = new Host()
  for (let server = 0; server < 20; server++) host.ask('hostile', 4, false)
  for (const owner of ['ann', 'ben', 'eve'])
    for (let server = 0; server < 3; server++) host.ask(owner, 0.5, true)
  await host.step()
  // A retry comes last, whatever was asked before it.
  host.ask('hostile', 4, false)
  host.ask('late', 0.5, true)
  await host.run()
  expect(host.hoursOf('ann')).toEqual([4, 5.5, 7.5])
  expect(host.hoursOf('late')).toEqual([6])
  const honest = ['ann', 'ben', 'eve', 'late'].flatMap((owner) => host.hoursOf(owner))
  expect(Math.max(...honest)).toBe(8.5)
  expect(host.hoursOf('hostile').slice(0, 3)).toEqual([0, 9, 13])
  expect(host.hoursOf('hostile')).toHaveLength(21)
})

test('slow copies that are made take turns with those of others', async () => {
  const host = new Host()
  for (let server = 0; server < 4; server++) host.ask('large', 4, true)
  for (let server = 0; server < 3; server++) host.ask('ann', 0.5, true)
  await host.run()
  expect(host.hoursOf('ann')).toEqual([4, 8.5, 13])
})

test('a wasted turn is forgiven after a copy or a day, and a short one does not count', async () => {
  const asked = async (host: Host) => {
    host.ask('ben', 1, true)
    host.ask('ann', 1, true)
    host.ask('eve', 1, true)
    await host.run()
    return host.served.slice(-3).map(([owner]) => owner)
  }
  const lost = new Host()
  lost.ask('ann', 4, false)
  await lost.run()
  expect(await asked(lost)).toEqual(['ben', 'eve', 'ann'])
  expect(await asked(lost)).toEqual(['ben', 'ann', 'eve'])
  const old = new Host()
  old.ask('ann', 4, false)
  await old.run()
  old.clock.advance(24 * HOUR)
  expect(await asked(old)).toEqual(['ben', 'ann', 'eve'])
  const short = new Host()
  short.ask('ann', 0.1, false)
  await short.run()
  expect(await asked(short)).toEqual(['ben', 'ann', 'eve'])
})

test('a copy that is given up while it waits takes no turn', async () => {
  const host = new Host()
  const abort = new AbortController()
  host.ask('ann', 1, true)
  host.ask('ben', 1, true, abort.signal)
  host.ask('eve', 1, true)
  abort.abort(new Error('removed'))
  await host.run()
  expect(host.served.map(([owner]) => owner)).toEqual(['ann', 'eve'])
})
