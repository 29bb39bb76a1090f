import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
const dir = mkdtempSync(path.join(tmpdir(), 'berth-import-'))
beforeAll(async () => {
  world = await QemuWorld.open()
  await world.driver.close()
})
afterAll(async () => {
  await world?.close()
  rmSync(dir, { recursive: true, force: true })
})

const MIB = 2 ** 20

/** @returns what the process printed, and whether it was killed */
async function importer(file: string, id: string, received: number, killAt: number) {
  const script = path.join(import.meta.dirname, 'test-importer.ts')
  const args = [script, world.dataDir, file, id, String(received), String(killAt)]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args)
    return { stdout, isKilled: false }
  } catch (error) {
    if (Object(error).signal !== 'SIGKILL') throw error
    return { stdout: String(Object(error).stdout), isKilled: true }
  }
}

test('a service killed at any moment of an import resumes it, and the image is identical to the file', async () => {
  const disk = Buffer.alloc(6 * MIB)
  randomBytes(4 * MIB).copy(disk, MIB)
  disk.writeUInt16BE(0x55aa, 510)
  const file = path.join(dir, 'disk')
  writeFileSync(file, disk)
  const whole = await importer(file, 'unharmed', 0, 0)
  const effects = Number(/effects (\d+)/.exec(whole.stdout)?.[1])
  const names = ['unharmed']
  let kills = 0
  // The moments differ with each run of this test; an error names the one that it needs.
  for (let round = 0; round < 10; round++) {
    const killAt = 1 + Math.floor(((round + Math.random()) / 10) * effects)
    const id = `round-${round}-${killAt}`
    const first = await importer(file, id, 0, killAt)
    if (first.isKilled) kills++
    // The service's row counts only the parts whose arrival was reported.
    const received = Math.max(0, ...first.stdout.split('\n').map(Number).filter(Number.isFinite))
    await importer(file, id, received, 0)
    names.push(id)
    expect(readdirSync(path.join(world.dataDir, 'snapshots/tmp')), id).toEqual([])
  }
  expect(kills).toBeGreaterThan(5)
  for (const id of names) {
    const image = path.join(world.dataDir, 'snapshots', id, 'disk.qcow2')
    expect(execFileSync('qemu-img', ['compare', file, image], { encoding: 'utf8' }), id).toContain(
      'identical',
    )
  }
  await world.restart()
  expect([...(await world.driver.listSnapshots()).keys()].sort()).toEqual(names.sort())
  for (const id of names) await world.driver.removeSnapshot(id)
  expect(readdirSync(path.join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
})
