import { setImmediate as breathe } from 'node:timers/promises'
import type { Queries } from '../database/database.ts'
import type { Reading } from '../monitoring/reading.ts'
import { nextReadings } from '../monitoring/readings.ts'
import { meteredServers } from '../servers/queries.ts'
import { kinds, ONE_WAY, type SignKind } from './kinds.ts'
import type { Found } from './signs.ts'

/** Figures over a shorter time say little, and over a longer one nothing about the present. */
const SHORTEST_MS = 5 * 60_000
const LONGEST_MS = 60 * 60_000
const AT_ONCE = 500

type Look = Pick<Reading, 'at' | 'startedAt' | 'counts'> & { cpuMs: number | null }

/** Compares servers' latest readings, which the sampler stores anyway, with those of some minutes earlier. */
export class ServerSigns {
  /** The baseline of each server, with which its next reading is compared. */
  #looks: ReadonlyMap<string, Look> = new Map()

  /** Reads all servers that are on, some at a time. */
  async find(db: Queries): Promise<Found[]> {
    const found: Found[] = []
    const looks = new Map<string, Look>()
    for (let after = ''; ; await breathe()) {
      const servers = await nextReadings(db, meteredServers, after, AT_ONCE)
      for (const { server_id, account_id, cpu, reading } of servers) {
        if (!reading) continue
        const before = this.#looks.get(server_id)
        const look = lookOf(reading)
        const figures = before ? figuresBetween(before, look, cpu) : null
        // A reading that comes too soon keeps the earlier one as its baseline.
        looks.set(
          server_id,
          before && look.at - before.at < SHORTEST_MS && look.at >= before.at ? before : look,
        )
        if (!before || !figures) continue
        const sign = { subject: server_id, accountId: account_id, accounts: [account_id] }
        for (const [kind, figure] of figures)
          if (figure >= kinds[kind].least)
            found.push({ ...sign, kind, figure: Math.round(figure), since: before.at, seenAt: look.at })
      }
      if (servers.length < AT_ONCE) break
      after = servers.at(-1)?.server_id ?? ''
    }
    this.#looks = looks
    return found
  }
}

function lookOf({ at, startedAt, counts, totals }: Reading): Look {
  return { at, startedAt, cpuMs: totals.cpuMs, ...(counts ? { counts } : {}) }
}

/** Averages a server's figures between two readings; null if they are too close or too far apart. */
function figuresBetween(before: Look, look: Look, cores: number): [SignKind, number][] | null {
  const ms = look.at - before.at
  if (ms < SHORTEST_MS || ms > LONGEST_MS) return null
  const grown = (from: number | null | undefined, until: number | null | undefined) =>
    typeof from === 'number' && typeof until === 'number' && until >= from ? until - from : 0
  const cpu: [SignKind, number] = ['cpu_at_limit', (grown(before.cpuMs, look.cpuMs) / ms / cores) * 100]
  // A restart of the machine resets the counters of its network card.
  const [from, until] = [before.counts, look.counts]
  if (!from || !until || before.startedAt !== look.startedAt) return [cpu]
  const perSecond = (count: number) => (count * 1000) / ms
  const sent = grown(from.txPackets, until.txPackets)
  const isOneWay = sent >= ONE_WAY * grown(from.rxPackets, until.rxPackets)
  return [
    cpu,
    ['outgoing_flood', isOneWay ? perSecond(sent) : 0],
    ['many_connections', perSecond(grown(from.opened, until.opened))],
    ['mail_tries', perSecond(grown(from.mailsRefused, until.mailsRefused)) * 3600],
  ]
}
