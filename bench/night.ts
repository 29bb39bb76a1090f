import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import type { QemuWorld } from '../api/drivers/qemu/test-world.ts'
import type { SnapshotState } from '../api/drivers/snapshots.ts'
import { cpuOfAll } from './cpu.ts'

const MIB = 2 ** 20
const SERVERS = 100
/** The data of each server. Half of it is random, the other half text. */
const DATA_MB = 64
/** The changes of a day: half of them in one place, the other half in pieces of 16 KB that lie apart. */
const CHANGED_MB = 8
const PIECE_KB = 16

/**
 * Measures a night's backups of 100 servers, one after the other as the service makes them: full ones, and after a day's
 * changes the differences to them. The servers are off: their disks are real, and read as those of servers that run
 * are once QEMU has copied them. A plain copy of each disk's file is the reference.
 */
export async function benchNight(world: QemuWorld): Promise<void> {
  const ids = Array.from({ length: SERVERS }, (_, at) => `night-${at}`)
  for (const id of ids) {
    await world.driver.define({ ...world.spec(id), diskGb: 3 })
    fill(world, id, 2 * 1024, randomBytes((DATA_MB / 2) * MIB))
    fill(world, id, 2.5 * 1024, textOf((DATA_MB / 2) * MIB))
  }
  console.log(`a night of ${SERVERS} servers, each with ${DATA_MB} MB of data:`)
  await night(ids, 'plain copy', async (id) => {
    const copy = path.join(world.dataDir, 'plain')
    copyFileSync(world.diskOf(id), copy)
    execFileSync('sync', [copy])
    return statSync(copy).blocks * 512
  })
  await night(ids, 'full', async (id) => bytesOf(await world.copied(id, `${id}-full`)))
  for (const id of ids) change(world, id)
  await night(ids, `difference after ${CHANGED_MB} MB`, async (id) =>
    bytesOf(await world.copied(id, `${id}-difference`, `${id}-full`)),
  )
}

async function night(
  ids: readonly string[],
  name: string,
  copy: (id: string) => Promise<number>,
): Promise<void> {
  const [start, cpu] = [performance.now(), cpuOfAll()]
  let bytes = 0
  for (const id of ids) bytes += await copy(id)
  const seconds = (performance.now() - start) / 1000
  const each = `${(bytes / MIB / ids.length).toFixed(1)} MB, ${(seconds / ids.length).toFixed(2)} s`
  const used = cpuOfAll() - cpu
  console.log(
    `  ${name}: ${(bytes / MIB).toFixed(0)} MB, ${seconds.toFixed(0)} s, ${used.toFixed(0)} s of CPU; a server: ${each}, ${(used / ids.length).toFixed(2)} s of CPU`,
  )
}

function change(world: QemuWorld, id: string): void {
  const half = (CHANGED_MB / 2) * MIB
  fill(world, id, 2 * 1024, randomBytes(half))
  const pieces = Array.from({ length: half / (PIECE_KB * 1024) }, (_, at) => [
    '-c',
    `write -q -P ${1 + (at % 255)} ${2 * 1024 * 1024 + 8 * 1024 + at * 64}k ${PIECE_KB}k`,
  ])
  execFileSync('qemu-io', [...pieces.flat(), world.diskOf(id)])
}

/** The size of what a copy added to the host. @throws Error if the copy failed */
export function bytesOf(state: SnapshotState): number {
  if (state.state !== 'ready') throw new Error(JSON.stringify(state))
  return state.bytes - (state.base?.bytes ?? 0)
}

/** Bytes that compress well. */
export const textOf = (bytes: number) => Buffer.alloc(bytes, 'a system has a lot of text. ')

/** Writes to the disk of a machine that is off. */
export function fill(world: QemuWorld, id: string, atMb: number, data: Buffer): void {
  const file = path.join(world.dataDir, 'data')
  writeFileSync(file, data)
  execFileSync('qemu-io', ['-c', `write -q -s ${file} ${atMb}M ${data.length}`, world.diskOf(id)])
  rmSync(file)
}
