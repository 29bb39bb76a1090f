import type { Customer } from './acting.ts'
import type { Chance } from './chance.ts'
import { outcomeOf } from './customer.ts'
import type { Disks, Hall } from './disks.ts'
import type { Duty, Operator } from './operator.ts'
import type { Installation, Process } from './process.ts'
import type { Receivers } from './receivers.ts'
import type { Blow, Setup } from './setup.ts'
import type { Till } from './till.ts'

const HOUR = 3600_000

interface Scene {
  installation: Installation
  setup: Setup
  simulator: Hall
  disks: Disks
  receivers: Receivers
  till: Till
  customers: readonly Customer[]
  operator: () => Operator | null
  tell: (name: string, what: string) => void
  count: (point: string) => void
  countStop: (process: Process, stop: 'kill' | 'pause') => void
  broken: (what: string) => void
  /** Starts a process while others work. */
  replace: () => Promise<void>
}

/** Lets something befall the installation; the customer is the one whom a duty of the operator concerns. */
export async function strike(
  scene: Scene,
  name: string,
  blow: Exclude<Blow, 'none'>,
  chance: Chance,
  customer?: Customer,
): Promise<void> {
  const { customers, simulator, disks, till } = scene
  const { scheduler } = scene.installation
  const tell = (what: string) => scene.tell(name, what)
  const id = chance.pick(customers.flatMap(({ known }) => known.servers.slice(-3)))
  scene.count(`blow: ${blow}`)
  switch (blow) {
    case 'kill':
    case 'pause':
      return stop(scene, name, blow, chance)
    case 'host_away':
    case 'full':
    case 'receivers_away':
    case 'provider_away':
      return tell(sever(scene, blow, chance))
    case 'pay_back':
      return tell(`the provider pays a part of ${till.payBack(chance)} back`)
    case 'crash':
    case 'shutdown':
      if (id === undefined || (await simulator.inspect(id)).power !== 'running') return
      simulator.turnsOffByItself(id, blow === 'crash' ? 'crashed' : 'guest_shutdown')
      return tell(`the machine of ${id} turns off by itself: ${blow}`)
    case 'deaf':
      if (id !== undefined) simulator.ignoresPowerButton(id)
      return tell(`the guest of ${id} ignores its power button`)
    case 'clock':
      scheduler.stepClock(chance.pick([3_000, -3_000, -300_000, -2 * HOUR]) ?? 0)
      return tell('the clock is set')
    case 'write':
      if (id === undefined || !(await disks.write(id))) return
      return tell(`the guest of ${id} writes to its disk`)
    default:
      return onDuty(scene, name, blow, chance, customer)
  }
}

async function stop(scene: Scene, name: string, how: 'kill' | 'pause', chance: Chance): Promise<void> {
  const { installation, setup } = scene
  const { scheduler, processes } = installation
  const process = chance.pick(processes)
  if (how === 'kill') {
    scene.tell(name, `${process?.actor.name} is killed`)
    if (process) scene.countStop(process, 'kill')
    process?.kill(installation)
    await scheduler.cross(scheduler.actor, 'supervisor', chance.between(1, 20_000))
    if (processes.length < setup.processes) await scene.replace()
    return
  }
  if (!process) return
  // PostgreSQL ends the transaction of a process that stands still; SQLite would let all others wait for it.
  while (process.isWriting && !process.actor.isDead) await scheduler.cross(scheduler.actor, 'pause', 1)
  scene.countStop(process, 'pause')
  process.actor.pausedUntil = scheduler.elapsed() + chance.between(100, 90_000)
  scene.tell(name, `${process.actor.name} stands still for a while`)
}

/** Lets something not answer for a while. @returns what it is */
function sever(
  { installation: { host, scheduler }, receivers, till }: Scene,
  what: 'host_away' | 'full' | 'receivers_away' | 'provider_away',
  chance: Chance,
): string {
  const until = (least: number, most: number) => scheduler.elapsed() + chance.between(least, most)
  if (what === 'host_away') {
    host.awayUntil = until(100, 120_000)
    return 'the host does not answer'
  }
  if (what === 'full') {
    host.fullUntil = until(60_000, 600_000)
    return 'the disk of the host is full'
  }
  if (what === 'receivers_away') receivers.awayUntil = until(100, 600_000)
  else till.awayUntil = until(100, 600_000)
  return what === 'receivers_away'
    ? 'no receiver of webhooks answers'
    : 'the provider of payments does not answer'
}

async function onDuty(
  scene: Scene,
  name: string,
  duty: Duty,
  chance: Chance,
  whose?: Customer,
): Promise<void> {
  const { scheduler } = scene.installation
  const { customers } = scene
  const customer = whose ?? (chance.pick(customers) as Customer) // there are at least two
  const wait = (ms: number) => scheduler.cross(scheduler.actor, 'office', ms)
  const done = (await scene.operator()?.act(duty, { customer, customers, chance, wait })) ?? []
  for (const { said, reply, broken } of done) {
    scene.tell(name, `${said}: ${outcomeOf(reply)}`)
    if (broken) scene.broken(broken)
  }
}
