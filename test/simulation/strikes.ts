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

/** Strikes the installation with an event; the customer is the one affected by the operator's work. */
export async function strike(
  scene: Scene,
  name: string,
  blow: Exclude<Blow, 'none'>,
  chance: Chance,
  customer?: Customer,
): Promise<void> {
  const { customers, simulator, disks, till } = scene
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
      return turnOff(scene, name, blow, chance)
    case 'collide':
      return collide(scene, name, chance)
    case 'deaf':
      if (id !== undefined) simulator.ignoresPowerButton(id)
      return tell(`the guest of ${id} ignores its power button`)
    case 'clock_ahead':
    case 'clock_back':
      return tell(setClock(scene, blow, chance))
    case 'write':
      if (id === undefined || !(await disks.write(id))) return
      return tell(`the guest of ${id} writes to its disk`)
    default:
      return onDuty(scene, name, blow, chance, customer)
  }
}

/** Sets the clock, in tours by enough to affect charges. @returns a description */
function setClock(
  { installation: { scheduler }, setup: { isTour } }: Scene,
  how: 'clock_ahead' | 'clock_back',
  chance: Chance,
): string {
  const isAhead = how === 'clock_ahead'
  const ms = isTour ? 0 : (chance.pick(isAhead ? [3_000, HOUR] : [3_000, 300_000, 2 * HOUR]) ?? 0)
  const by = ms || (isAhead ? HOUR : 2 * HOUR)
  scheduler.stepClock(isAhead ? by : -by)
  return `the clock is set ${isAhead ? 'ahead' : 'back'} by ${by / 1_000} s`
}

/** Finds a server with a running machine, and its customer. */
async function running({ customers, simulator }: Scene, chance: Chance) {
  const all = customers.flatMap((customer) => customer.known.servers.map((id) => ({ id, customer })))
  const machines = await simulator.list()
  return chance.pick(all.filter(({ id }) => machines.get(id)?.power === 'running'))
}

async function turnOff(scene: Scene, name: string, how: 'crash' | 'shutdown', chance: Chance): Promise<void> {
  const { id } = (await running(scene, chance)) ?? {}
  if (id === undefined) return
  scene.simulator.turnsOffByItself(id, how === 'crash' ? 'crashed' : 'guest_shutdown')
  scene.tell(name, `the machine of ${id} turns off by itself: ${how}`)
}

/** Shuts a guest down just as its customer changes its power. */
async function collide(scene: Scene, name: string, chance: Chance): Promise<void> {
  const { id, customer } = (await running(scene, chance)) ?? {}
  if (id === undefined || !customer) return
  const verb = chance.pick(['stop', 'reboot', 'rebuild']) ?? 'stop'
  const body = verb === 'rebuild' ? { template_id: customer.template } : { force: true }
  const { scheduler } = scene.installation
  const sending = customer.client.send(chance, 'POST', `/servers/${id}/${verb}`, body)
  for (let left = chance.below(6); left > 0; left -= 1) await scheduler.cross(scheduler.actor, 'collision')
  scene.simulator.turnsOffByItself(id, 'guest_shutdown')
  const reply = await sending
  scene.tell(name, `the machine of ${id} turns off by itself during ${verb}: ${outcomeOf(reply)}`)
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
  // PostgreSQL ends the transaction of a paused process; SQLite would make all others wait for it.
  while (process.isWriting && !process.actor.isDead) await scheduler.cross(scheduler.actor, 'pause', 1)
  scene.countStop(process, 'pause')
  process.actor.pausedUntil = scheduler.elapsed() + chance.between(100, 90_000)
  scene.tell(name, `${process.actor.name} stands still for a while`)
}

/** Makes a part of the world unavailable for a while. @returns its name */
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
