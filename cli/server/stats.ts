import { setTimeout as pause } from 'node:timers/promises'
import type { ServerStats } from '@berth/sdk'
import { Command, InvalidArgumentError } from 'commander'
import { gauge } from '../chart.ts'
import { idOf } from '../find.ts'
import { type Columns, cardOf, showNext } from '../output.ts'
import { action, type Session } from '../session.ts'
import { untilInterrupt } from '../terminal.ts'
import { bytes, bytesPerSecond, duration, ifKnown, percent } from '../units.ts'
import { serverKind } from './kind.ts'

const MIB = 2 ** 20

export function statsCommand(): Command {
  return new Command('stats')
    .description('show the current resource usage of a server')
    .argument('<server>', 'name or id')
    .option('--watch', 'refresh until Ctrl-C')
    .option('--interval <seconds>', 'seconds between refreshes', intervalOf, 5)
    .action(
      action(async (session, given: string, { watch, interval }: { watch?: boolean; interval: number }) => {
        const server_id = await idOf(session.berth, serverKind, given)
        if (watch) return watchStats(session, server_id, interval * 1000)
        await session.show(await session.berth.servers.stats(server_id), cardFor(session))
      }),
    )
}

function intervalOf(given: string): number {
  const seconds = Number(given)
  // Longer ones overflow a timer; shorter ones use up the rate limit.
  if (!(seconds >= 0.1 && seconds <= 86_400))
    throw new InvalidArgumentError('It must be a number of seconds from 0.1 to 86400.')
  return seconds
}

function watchStats(session: Session, server_id: string, pauseMs: number): Promise<void> {
  const { berth, terminal } = session
  const showReading = readingsOf(session)
  return untilInterrupt(terminal, async (signal) => {
    for (;;) {
      await showReading(await berth.servers.stats(server_id, { signal }))
      await pause(pauseMs, undefined, { signal })
    }
  })
}

type ShowReading = (stats: ServerStats) => Promise<void>

/** The display of readings: redrawn in place on a terminal, otherwise one after another. */
function readingsOf(session: Session): ShowReading {
  const { format, terminal } = session
  const { stdout } = terminal
  if (format !== 'table') return (stats) => showNext(stdout, format, stats, {})
  return stdout.isTTY ? redrawn(session) : inLines(session)
}

function redrawn(session: Session): ShowReading {
  const { stdout } = session.terminal
  let back = ''
  return async (stats) => {
    const card = await cardOf(stats, cardFor(session), stdout)
    // Without wrapping: the cursor moves back by a number of lines.
    stdout.write(`\x1b[?7l${back}${card}\x1b[?7h`)
    back = `\x1b[${card.split('\n').length - 1}A\x1b[J`
  }
}

function inLines({ terminal: { stdout } }: Session): ShowReading {
  const write = ([time = '', ...texts]: string[]) =>
    stdout.write(`${[time.padEnd(24), ...texts.map((text) => text.padEnd(WIDTH))].join('  ').trimEnd()}\n`)
  let isFirst = true
  return async (stats) => {
    if (isFirst) write(Object.keys(brief))
    isFirst = false
    write(Object.values(brief).map((shown) => String(shown(stats) ?? '-')))
  }
}

/** The width of all columns but the time: fits `1023.9 MiB/s`, as later readings are unknown. */
const WIDTH = 12

/** A reading on one line. */
const brief: Columns<ServerStats> = {
  TIME: ({ collected_at }) => collected_at,
  STATUS: ({ status }) => status,
  CPU: ({ cpu }) => ifKnown(cpu.usage_percent, percent),
  MEMORY: ({ memory }) => ifKnown(memory.used_mb, (mb) => bytes(mb * MIB)),
  DISK: ({ disk }) => ifKnown(disk.used_gb, (gb) => `${gb} GB`),
  READ: ({ disk }) => ifKnown(disk.read_bytes_per_second, bytesPerSecond),
  WRITTEN: ({ disk }) => ifKnown(disk.write_bytes_per_second, bytesPerSecond),
  RECEIVED: ({ network }) => ifKnown(network.rx_bytes_per_second, bytesPerSecond),
  SENT: ({ network }) => ifKnown(network.tx_bytes_per_second, bytesPerSecond),
}

/** A reading as a card, with bars on a terminal. */
function cardFor({ terminal }: Session): Columns<ServerStats> {
  const withBar = (text: string, fraction: number | null) =>
    terminal.stdout.isTTY && fraction !== null ? `${gauge(fraction)} ${text}` : text
  const flow = (rate: number | null, total: number | null) =>
    ifKnown(total, (known) => `${ifKnown(rate, bytesPerSecond) ?? '-'}, ${bytes(known)} total`)
  return {
    Status: ({ status }) => status,
    Uptime: ({ uptime_seconds }) => ifKnown(uptime_seconds, duration),
    CPU: ({ cpu: { usage_percent, cores } }) =>
      withBar(
        `${ifKnown(usage_percent, percent) ?? '-'} of ${cores} ${cores === 1 ? 'core' : 'cores'}`,
        ifKnown(usage_percent, (used) => used / 100),
      ),
    Memory: ({ memory: { used_mb, total_mb } }) =>
      withBar(
        `${ifKnown(used_mb, (mb) => bytes(mb * MIB)) ?? '-'} of ${bytes(total_mb * MIB)}`,
        ifKnown(used_mb, (mb) => mb / total_mb),
      ),
    Disk: ({ disk: { used_gb, total_gb } }) =>
      // The API gives hundredths of a GB: smaller units would suggest more precision.
      `${used_gb ?? '-'} of ${total_gb} GB`,
    Read: ({ disk }) => flow(disk.read_bytes_per_second, disk.read_bytes_total),
    Written: ({ disk }) => flow(disk.write_bytes_per_second, disk.write_bytes_total),
    Received: ({ network }) => flow(network.rx_bytes_per_second, network.rx_bytes_total),
    Sent: ({ network }) => flow(network.tx_bytes_per_second, network.tx_bytes_total),
    Measured: ({ collected_at }) => collected_at,
  }
}
