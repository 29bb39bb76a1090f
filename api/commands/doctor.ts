import { execFile } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { statfs } from 'node:fs/promises'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { countUnpublished } from '../addresses/reverse-dns.ts'
import { chargeLagSeconds } from '../billing/metering.ts'
import { systemClock } from '../clock.ts'
import { CommandError, type Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { countMails } from '../mail/queue.ts'
import { messageOf } from '../message-of.ts'
import { activeOperations } from '../operations/operations.ts'
import { countOffsite } from '../snapshots/offsite-rows.ts'
import { countCopies } from '../snapshots/verification.ts'
import { catalogInForce } from './catalog.ts'
import { isServed, lastBackup, openMailer, requireInstallation } from './installation.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printsJson, printTable } from './print.ts'
import { findWalls } from './walls.ts'

const HOUR_S = 3600
const HOUR_MS = HOUR_S * 1000
const PATIENCE_MS = 5_000

/** One line of the examination. */
interface Finding {
  name: string
  /** A `fault` does harm soon or already; a `warning` may be intended by the operator. */
  state: 'ok' | 'warning' | 'fault'
  says: string
  /** The remedy. */
  mend?: string
}

const ok = (name: string, says: string): Finding => ({ name, state: 'ok', says })
const fault = (name: string, says: string, mend: string): Finding => ({ name, state: 'fault', says, mend })
const warning = (name: string, says: string, mend: string): Finding => ({
  ...fault(name, says, mend),
  state: 'warning',
})

async function service(config: Config): Promise<Finding> {
  if (await isServed(config)) return ok('service', 'a process serves this installation')
  const mend = 'Start it: systemctl start berth. If it stops again: journalctl -u berth -o cat | tail.'
  return fault('service', 'no process serves this installation', mend)
}

async function disk({ dataDir }: Config): Promise<Finding> {
  const { bavail, blocks, bsize } = await statfs(dataDir)
  const free = Math.floor((100 * bavail) / blocks)
  const says = `${free} % of the disk of ${dataDir} are free, ${((bavail * bsize) / 1e9).toFixed(1)} GB`
  const mend = 'Make room as docs/operating/trouble.md says under "The disk is full".'
  return free < 5 ? fault('disk', says, mend) : free < 15 ? warning('disk', says, mend) : ok('disk', says)
}

async function clock(): Promise<Finding> {
  const asked = ['show', '--property=NTPSynchronized', '--value']
  const said = await promisify(execFile)('timedatectl', asked, { timeout: PATIENCE_MS }).catch(() => null)
  if (said?.stdout.trim() === 'yes') return ok('clock', 'it is set by NTP')
  const mend = 'Let NTP set it, by systemd-timesyncd or chrony: charges and certificates depend on it.'
  const says = said ? 'it is not set by NTP' : 'this machine does not say whether NTP sets it'
  return warning('clock', says, mend)
}

async function mail(config: Config, db: Database): Promise<Finding> {
  const waiting = await countMails(db)
  if (!config.smtp) {
    const says = 'mails are only written into the folder "mail" of the data folder, so nobody gets them'
    return (config.isPublic ? fault : warning)('mail', says, 'Set BERTH_SMTP (--smtp) to a mail server.')
  }
  const mailer = openMailer(config)
  try {
    await mailer.check()
  } catch (error) {
    const says = `${config.smtp.host} does not accept mails: ${messageOf(error)}; ${waiting} wait`
    return fault('mail', says, 'Check BERTH_SMTP (--smtp), and whether that server is up.')
  } finally {
    mailer.close()
  }
  return ok('mail', `${config.smtp.host} accepts mails; ${waiting} wait`)
}

/** The name under which customers find the service, and the certificate that they get there. */
async function name({ publicName }: Config): Promise<Finding[]> {
  if (!publicName) return []
  const found = await lookup(publicName).catch(() => null)
  if (!found)
    return [fault('name', `${publicName} has no address`, 'Add an A or AAAA record for it to its zone.')]
  return [ok('name', `${publicName} is ${found.address}`), await certificate(publicName)]
}

async function certificate(publicName: string): Promise<Finding> {
  const mend = 'See the log of the proxy that renews it: docs/operating/tls.md.'
  try {
    const days = Math.floor((Date.parse(await validTo(publicName)) - systemClock.now()) / (24 * HOUR_MS))
    const says = `the certificate of ${publicName} is valid for ${days} more days`
    return days < 14 ? fault('certificate', says, mend) : ok('certificate', says)
  } catch (error) {
    return fault('certificate', `${publicName} has no valid one: ${messageOf(error)}`, mend)
  }
}

/**
 * Returns the time at which a server's certificate expires.
 * @throws Error if there is none, or it is not trusted
 */
function validTo(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 443, servername: host, timeout: PATIENCE_MS }, () => {
      resolve(socket.getPeerCertificate().valid_to)
      socket.destroy()
    })
    socket.once('error', reject)
    socket.once('timeout', () => socket.destroy(new Error(`no reply in ${PATIENCE_MS / 1000} s`)))
  })
}

async function backup(config: Config): Promise<Finding[]> {
  const at = await lastBackup(config)
  if (at === null) return []
  const mend = 'Run berthd backup each night: deploy/berth-backup.timer does it.'
  if (!Number.isFinite(at)) return [fault('backup', 'there has never been one', mend)]
  const hours = Math.round((systemClock.now() - at) / HOUR_MS)
  const says = `the last one is ${hours} hours old`
  return [hours > 36 ? fault('backup', says, mend) : ok('backup', says)]
}

async function copies(config: Config, db: Database): Promise<Finding[]> {
  const now = systemClock.now()
  const bad = (await countCopies(db, now)).filter(({ state }) => state === 'damaged' || state === 'overdue')
  const verified =
    bad.length === 0
      ? ok('copies', 'no snapshot or backup is damaged, or late to be verified')
      : fault(
          'copies',
          bad.map(({ kind, state, total }) => `${total} ${kind} ${state}`).join(', '),
          'Run berthd disk check, which names them.',
        )
  if (!config.offsite) return [verified]
  const waiting = (await countOffsite(db)).find(({ state }) => state === 'waiting')
  const hours = waiting?.oldest_created_at ? (now - waiting.oldest_created_at) / HOUR_MS : 0
  const says = `${waiting?.total ?? 0} copies wait to be sent off site`
  const mend = 'Check BERTH_OFFSITE (--offsite), and the journal for the reason.'
  return [verified, hours > 24 ? fault('off site', says, mend) : ok('off site', says)]
}

async function reverseDns({ rdns }: Config, db: Database): Promise<Finding[]> {
  if (!rdns) return []
  const count = await countUnpublished(db)
  const says = `${count} reverse DNS names could not be published`
  const mend = 'See the journal for the reason, and check BERTH_RDNS (--rdns) and the zones there.'
  return [count > 0 ? fault('reverse dns', says, mend) : ok('reverse dns', 'all names are published')]
}

async function catalogue(config: Config): Promise<Finding> {
  const { fault: reason } = await catalogInForce(config)
  if (!reason) return ok('catalogue', 'it is valid')
  const says = `the file is refused, so the last good one is in force: ${messageOf(reason)}`
  return fault('catalogue', says, 'Mend it, and run berthd catalog check.')
}

async function work(db: Database): Promise<Finding[]> {
  const lag = await chargeLagSeconds(db, systemClock.now())
  const created = (await activeOperations(db)).map(({ oldest_created_at }) => oldest_created_at ?? Number.NaN)
  const hours = Math.max(
    0,
    ...created.map((at) => (systemClock.now() - at) / HOUR_MS).filter(Number.isFinite),
  )
  const late = `charges are ${Math.round(lag / 60)} minutes late`
  const old = `the oldest operation that has not ended is ${hours.toFixed(1)} hours old`
  return [
    lag > 2 * HOUR_S
      ? fault('charges', late, 'See the journal for errors of billing; it catches up by itself.')
      : ok('charges', late),
    hours > 2
      ? warning('operations', old, 'See berthd server list and the journal for what it waits for.')
      : ok('operations', hours === 0 ? 'none is under way' : old),
  ]
}

/** Examines the walls between customers: a missing wall is a fault if strangers rent, else a warning. */
async function walls(config: Config, db: Database): Promise<Finding[]> {
  const { catalog } = await catalogInForce(config)
  const found = await findWalls(config, db, catalog)
  const missing = found.walls.flatMap(({ name: wall, gap, mend }) =>
    gap === null ? [] : [(config.isPublic ? fault : warning)(wall, gap.replace(/\.$/, ''), mend)],
  )
  const standing = `${found.walls.length - missing.length} of ${found.walls.length} stand`
  return [
    ...(missing.length === 0 ? [ok('walls', standing)] : missing),
    ...found.warnings.map((says) => warning('host', says, 'See docs/operating/install.md.')),
  ]
}

type Part = readonly [name: string, look: () => Promise<Finding | Finding[]>]

/** Examines an installation, whether or not its service runs. It changes nothing. */
function examineAll(config: Config, db: Database): Promise<Finding[]> {
  return examine([
    ['service', () => service(config)],
    ...partsBeside(config, db),
    ['walls', () => walls(config, db)],
  ])
}

/**
 * Examines an installation within its service: all but the service itself, whose lock it must not touch, and
 * the walls, whose test sets them up.
 */
export function examineBeside(config: Config, db: Database): Promise<Finding[]> {
  return examine(partsBeside(config, db))
}

function partsBeside(config: Config, db: Database): Part[] {
  return [
    ['disk', () => disk(config)],
    ['clock', clock],
    ['catalogue', () => catalogue(config)],
    ['backup', () => backup(config)],
    ['copies', () => copies(config, db)],
    ['charges', () => work(db)],
    ['mail', () => mail(config, db)],
    ['reverse dns', () => reverseDns(config, db)],
    ['name', () => name(config)],
  ]
}

async function examine(parts: readonly Part[]): Promise<Finding[]> {
  const found: Finding[] = []
  for (const [part, look] of parts)
    try {
      found.push(...[await look()].flat())
    } catch (error) {
      found.push(
        fault(part, `it could not be examined: ${messageOf(error)}`, 'Mend this, and run doctor again.'),
      )
    }
  return found
}

export function doctorCommand(config: ReadConfig): Command {
  return new Command('doctor')
    .description(
      'examine this installation: service, disk, clock, catalogue, backups, charges, mail, copies, reverse DNS, name, certificate and the walls between customers; ends with 1 if something is at fault',
    )
    .action(async () => {
      const parsed = config()
      requireInstallation(parsed)
      const found = await withDatabase(parsed, 'doctor', (db) => examineAll(parsed, db))
      if (printsJson()) printTable(['STATE', 'NAME', 'FINDING', 'REMEDY'], found.map(cellsOf))
      else for (const line of found.flatMap(linesOf)) console.log(line)
      const faults = found.filter(({ state }) => state === 'fault').length
      if (faults > 0) throw new CommandError(`${faults} of ${found.length} checks found a fault.`)
    })
}

const cellsOf = ({ state, name: part, says, mend = '' }: Finding) => [state, part, says, mend]

const linesOf = ({ name: part, state, says, mend }: Finding) => [
  `${state.padEnd(8)} ${part}: ${says}`,
  ...(mend ? [`         ${mend}`] : []),
]
