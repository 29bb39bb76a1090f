import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { generateX25519Identity } from 'age-encryption'
import type { KyselyPlugin } from 'kysely'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { Drivers } from '../../../api/drivers/drivers.ts'
import type { SnapshotFiles } from '../../../api/drivers/snapshots.ts'
import { FolderPlace, type Place } from '../../../api/offsite/place.ts'
import { Sealer } from '../../../api/offsite/sealer.ts'
import { Vault } from '../../../api/offsite/vault.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { Offsite } from '../../../api/snapshots/offsite.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const sealer = new Sealer(await generateX25519Identity())
/** A copy is several parts of this size. */
const partBytes = 800

/** The life of one process: after as many moments as it is given, nothing that it does has an effect or an answer. */
class Life {
  moments = 0
  readonly #end: number
  #die = () => {}
  readonly death = new Promise<void>((resolve) => {
    this.#die = resolve
  })

  /** @param end the moment at which it is killed (0: never) */
  constructor(end: number) {
    this.#end = end
  }

  /** One of the moments at which a process can be killed. */
  async moment(): Promise<void> {
    this.moments++
    if (this.#end === 0 || this.moments < this.#end) return
    this.#die()
    await new Promise(() => {})
  }

  /** Adds a moment after each call of a method. */
  after<Args extends unknown[], Value>(method: (...args: Args) => Promise<Value>) {
    return async (...args: Args): Promise<Value> => {
      const value = await method(...args)
      await this.moment()
      return value
    }
  }
}

/** A folder in which a killed write leaves the draft of its file, as writeDurably does. */
function mortalPlace(folder: string, life: Life): Place {
  const place = new FolderPlace(folder)
  return {
    name: place.name,
    put: life.after(async (key, bytes) => {
      await place.put(`${key}.draft`, bytes.subarray(0, bytes.length / 2))
      await life.moment()
      await place.remove(`${key}.draft`)
      await place.put(key, bytes)
    }),
    get: life.after((key) => place.get(key)),
    list: life.after((key) => place.list(key)),
    remove: life.after((key) => place.remove(key)),
  }
}

function mortalFiles({ list, read, write, accept }: SnapshotFiles, life: Life): SnapshotFiles {
  return {
    ...{ list: life.after(list), read: life.after(read) },
    ...{ write: life.after(write), accept: life.after(accept) },
  }
}

interface Site {
  t: TestApp
  folder: string
  /** A process that copies off site, and is killed at a moment (0: never). */
  begin(end?: number): { offsite: Offsite; life: Life }
}

async function open(): Promise<Site> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-offsite-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const t = await testApp()
  const begin = (end = 0) => {
    const life = new Life(end)
    const watching: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      transformResult: life.after(async ({ result }) => result),
    }
    const snapshotFiles = mortalFiles(t.driver.snapshotFiles, life)
    const listSnapshots = life.after((ids?: readonly string[]) => t.driver.listSnapshots(ids))
    const offsite = new Offsite({
      ...{ db: t.db.withPlugin(watching), clock: t.clock, log: pino({ level: 'silent' }), peers: noPeers() },
      // Copies need no more of a driver than this.
      drivers: { at: () => ({ snapshotFiles, listSnapshots }) } as unknown as Drivers,
      vault: new Vault(mortalPlace(folder, life), sealer, { partBytes }),
    })
    return { offsite, life }
  }
  return { t, folder, begin }
}

/** Lets a process work until it is done, or dead. @returns the number of its moments */
async function work(
  { offsite, life }: ReturnType<Site['begin']>,
  act: (offsite: Offsite) => Promise<unknown>,
) {
  await Promise.race([act(offsite), life.death])
  return life.moments
}

const look = (offsite: Offsite) => offsite.look()
const bringing = (id: string) => async (offsite: Offsite) => {
  await offsite.bring(id)
  await offsite.settled()
}

async function take(t: TestApp, server_id: string): Promise<string> {
  const { body } = await t.call('POST', '/snapshots', { server_id })
  await t.finish()
  return body.snapshot_id
}

/** The state of a snapshot off site: the names of its files there, and what its customer sees. */
async function stateOf({ t, folder }: Site, id: string) {
  const names = readdirSync(folder).includes(id) ? readdirSync(path.join(folder, id)).sort() : []
  const { body } = await t.call('GET', `/snapshots/${id}`)
  return { names, isThere: body.offsite_at != null }
}

/**
 * Does a thing with a new snapshot once in peace, and then again for each moment of it: in a process that is killed at
 * the moment, and in a next one.
 */
async function atEachMoment(
  site: Site,
  {
    prepare,
    act,
  }: { prepare: (id: string) => Promise<void>; act: (id: string) => (offsite: Offsite) => Promise<unknown> },
  check: (id: string, moment: string) => Promise<void>,
): Promise<void> {
  const server = await make(site.t)
  const fresh = async () => {
    const id = await take(site.t, server)
    await prepare(id)
    return id
  }
  const first = await fresh()
  const moments = await work(site.begin(), act(first))
  await check(first, 'in peace')
  expect(moments).toBeGreaterThan(5)
  for (let moment = 1; moment <= moments; moment++) {
    const id = await fresh()
    await work(site.begin(moment), act(id))
    site.t.clock.advance(10 * 60_000)
    await work(site.begin(), act(id))
    await check(id, `killed at moment ${moment} of ${moments}`)
    await site.t.call('DELETE', `/snapshots/${id}`)
    await work(site.begin(), look)
  }
}

test('a service that is killed at any moment of a copy off site leaves it there whole and once', async () => {
  const site = await open()
  const expected: string[] = []
  const prepare = async () => {}
  await atEachMoment(site, { prepare, act: () => look }, async (id, moment) => {
    const { names, isThere } = await stateOf(site, id)
    if (expected.length === 0) expected.push(...names)
    expect(isThere, moment).toBe(true)
    expect(
      names.filter((name) => !name.endsWith('.draft')),
      moment,
    ).toEqual(expected)
    // It is whole if a host that has lost it gets the same bytes back.
    const files = await site.t.driver.snapshotFiles.list(id)
    await site.t.driver.removeSnapshot(id)
    await work(site.begin(), bringing(id))
    expect(await site.t.driver.snapshotFiles.list(id), moment).toEqual(files)
  })
  expect(expected.length).toBeGreaterThan(2)
})

test('a service that is killed at any moment of a removal leaves nothing off site', async () => {
  const site = await open()
  const { t, folder } = site
  const prepare = async (id: string) => {
    await work(site.begin(), look)
    writeFileSync(path.join(folder, id, 'disk.000001.age.draft'), 'the rest of a killed write')
    await t.call('DELETE', `/snapshots/${id}`)
  }
  await atEachMoment(site, { prepare, act: () => look }, async (id, moment) => {
    expect(readdirSync(folder), moment).toEqual([])
    const row = t.db.selectFrom('snapshots').select(['offsite_place', 'offsite_due_at'])
    const found = await row.where('snapshot_id', '=', id).executeTakeFirst()
    expect(found, moment).toEqual({ offsite_place: null, offsite_due_at: null })
  })
})

test('a service that is killed at any moment of bringing a copy back leaves it on its host whole, and off site', async () => {
  const site = await open()
  const { driver } = site.t
  let files: unknown
  let names: string[] = []
  const prepare = async (id: string) => {
    await work(site.begin(), look)
    names = (await stateOf(site, id)).names
    files = await driver.snapshotFiles.list(id)
    await driver.removeSnapshot(id)
  }
  await atEachMoment(site, { prepare, act: bringing }, async (id, moment) => {
    expect(await driver.snapshotFiles.list(id), moment).toEqual(files)
    expect(await stateOf(site, id), moment).toEqual({ names, isThere: true })
  })
})
