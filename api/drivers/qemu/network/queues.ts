import type { ServerNetwork } from '../../driver.ts'
import { cardOf, UPLINK } from './rules.ts'

/** The queue holds the data in flight of several connections, since pasta fills each guest's window at once. */
export const QUEUE_BYTES = 8 * 2 ** 20
/** Classes are numbered from 1 to 65,534. */
const CLASSES = 0xfffe

/** The bytes that pass a queue at once: 20 ms' worth, and a packet of the largest kind. */
const burstOf = (mbit: number) => Math.max(65_536, mbit * 2_500)

/** Returns the class of each limited machine's number, whose packets to the uplink wait in one queue. */
export function classesOf(networks: readonly ServerNetwork[]): Map<number, string> {
  const limited = networks.filter(({ bandwidthMbit }) => bandwidthMbit !== null)
  const classes = new Map<number, string>()
  const taken = new Set<number>()
  for (const number of limited.map((network) => network.number).sort((a, b) => a - b)) {
    let minor = number % CLASSES
    while (taken.has(minor)) minor = (minor + 1) % CLASSES
    taken.add(minor)
    classes.set(number, `1:${(minor + 1).toString(16)}`)
  }
  return classes
}

interface Queue {
  kind?: string
  dev?: string
  parent?: string
  options?: { rate?: number }
}

/**
 * Makes packets beyond a machine's bandwidth wait, in each direction, instead of dropping them.
 * @param inside runs a command in the namespace
 * @returns true if something was missing
 */
export async function queuePackets(
  networks: readonly ServerNetwork[],
  inside: (command: readonly string[], input?: string) => Promise<string>,
): Promise<boolean> {
  // As tc documents it: a list of objects, of which each field is tested before use.
  const present = JSON.parse(await inside(['tc', '-j', 'qdisc', 'show'])) as Queue[]
  const devices = new Set(present.map(({ dev }) => dev))
  if (!devices.has(UPLINK)) return false
  const rates = new Map(
    present.flatMap(({ kind, dev, options }) => (kind === 'tbf' ? [[dev, options?.rate]] : [])),
  )
  const queued = new Set(present.flatMap(({ kind, parent }) => (kind === 'bfifo' && parent ? [parent] : [])))
  const classes = classesOf(networks)
  const lines = [...queued]
    .filter((parent) => ![...classes.values()].includes(parent))
    .map((parent) => `class delete dev ${UPLINK} classid ${parent}`)
  for (const { number, bandwidthMbit: mbit } of networks) {
    const [card, own] = [cardOf(number), classes.get(number)]
    if (!devices.has(card)) continue
    if (mbit === null || own === undefined) {
      if (rates.has(card)) lines.push(`qdisc delete dev ${card} root`)
    } else if (rates.get(card) !== mbit * 125_000 || !queued.has(own)) {
      const rate = `rate ${mbit}mbit burst ${burstOf(mbit)}`
      lines.push(
        `class replace dev ${UPLINK} parent 1: classid ${own} htb ${rate} quantum 60000`,
        `qdisc replace dev ${UPLINK} parent ${own} bfifo limit ${QUEUE_BYTES}`,
        `qdisc replace dev ${card} root tbf ${rate} limit ${QUEUE_BYTES}`,
      )
    }
  }
  const isNew = !present.some(({ kind, dev }) => kind === 'htb' && dev === UPLINK)
  if (lines.length > 0 && isNew) lines.unshift(`qdisc replace dev ${UPLINK} root handle 1: htb`)
  if (lines.length > 0) await inside(['tc', '-batch', '-'], lines.join('\n'))
  return lines.length > 0
}
