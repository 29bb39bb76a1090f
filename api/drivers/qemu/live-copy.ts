import { constants, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncFolder } from '../../files.ts'
import { DriverError } from '../driver.ts'
import { diskFailure } from './disk.ts'
import type { Owner } from './host/process.ts'
import { qemuImg } from './images/qemu-img.ts'
import { give } from './pack.ts'
import type { Qmp } from './qmp.ts'

/** A copy of a running machine's disk, which its QEMU writes. */
export interface LiveCopy {
  id: string
  /** The machine's folder in which QEMU may write. */
  folder: string
  /** The path to which the finished draft is moved. */
  whole: string
  owner: Owner | null
  /** The largest disk that is copied: a size that QEMU reports must not fill the host. */
  mostBytes: number
  /** Called with the size of the disk right before the copy; it must call `begin`, which fixes the copied moment. */
  moment(virtualSizeBytes: number, begin: () => Promise<void>): Promise<void>
}

/** QEMU may take this long to reply on a busy host. */
const PATIENCE_MS = 20_000
const CANCEL_MS = 10_000
const IMG_MS = 60_000
const DRAFT = 'copy.qcow2'
/** The nodes of the target, in the order of their removal. */
const NODES = ['copy', 'copy-file']

interface Job {
  id: string
  status: string
  current: number
  total: number
  error: string | null
}

/**
 * Advances a copy: starts it, finds it again after a restart of the service, or finishes it. Safe to call at any time.
 * @returns its progress from 0 to 1, or `whole`
 * @throws DriverError disk_full, or Error with QEMU's description: the copy failed, and nothing is left of it in QEMU
 */
export async function advance(qmp: Qmp, copy: LiveCopy): Promise<number | 'whole'> {
  const id = jobOf(copy.id)
  const jobs = await copyJobs(qmp)
  const own = jobs.find((job) => job.id === id)
  if (own && own.status !== 'concluded') return own.total > 0 ? Math.min(own.current / own.total, 1) : 0
  const draft = join(copy.folder, DRAFT)
  if (own && own.error === null) {
    await closeTarget(qmp)
    await keepWhole(draft, copy.whole)
    await dismiss(qmp, id)
    return 'whole'
  }
  // A copy that the service has given up may still be running.
  await cancelCopies(qmp, copy.folder)
  if (own) throw diskFailure(new Error(own.error ?? ''))
  await start(qmp, copy, draft)
  return 0
}

/**
 * Ends copies of a machine's disk in its QEMU, and removes their draft.
 * @param only a copy's id (default: all copies)
 */
export async function cancelCopies(qmp: Qmp, folder: string, only?: string): Promise<void> {
  const jobs = await copyJobs(qmp)
  const wanted = jobs.filter(({ id }) => only === undefined || id === jobOf(only))
  // The target belongs to another copy.
  if (wanted.length === 0 && jobs.length > 0) return
  for (const { id, status } of wanted) {
    // The job may have concluded meanwhile.
    if (status !== 'concluded') await qmp.run('job-cancel', { id }, PATIENCE_MS).catch(() => {})
    const deadline = performance.now() + CANCEL_MS
    while ((await copyJobs(qmp)).some((job) => job.id === id && job.status !== 'concluded')) {
      if (performance.now() > deadline)
        throw new DriverError('unavailable', 'The copy of the disk does not end')
      await sleep(50)
    }
    await closeTarget(qmp)
    await dismiss(qmp, id)
  }
  await closeTarget(qmp)
  await dropDraft(folder)
}

/** Removes the draft of a copy that no QEMU writes any more. */
export async function dropDraft(folder: string): Promise<void> {
  await rm(join(folder, DRAFT), { force: true })
}

/** Begins with a letter, as QEMU requires. */
function jobOf(id: string): string {
  return `s-${id}`
}

async function start(qmp: Qmp, copy: LiveCopy, draft: string): Promise<void> {
  const { owner } = copy
  const { virtualSizeBytes, folder } = await diskOf(qmp)
  if (!(virtualSizeBytes > 0 && virtualSizeBytes <= copy.mostBytes))
    throw new Error(`The machine's disk claims to have ${virtualSizeBytes} bytes`)
  await writeFile(draft, '', { mode: 0o600, flag: 'wx' })
  await give(draft, owner)
  const args = ['create', '-q', '-f', 'qcow2', draft, String(virtualSizeBytes)]
  await qemuImg(args, { timeoutMs: IMG_MS, owner })
  const add = (options: object) => qmp.run('blockdev-add', { discard: 'unmap', ...options }, PATIENCE_MS)
  const filename = join(folder, 'run', DRAFT)
  await add({ driver: 'file', 'node-name': 'copy-file', filename })
  await add({ driver: 'qcow2', 'node-name': 'copy', file: 'copy-file', backing: null })
  const job = { 'job-id': jobOf(copy.id), device: 'd0', target: 'copy', sync: 'full' }
  const ends = { 'auto-dismiss': false, 'on-source-error': 'report', 'on-target-error': 'report' }
  await copy.moment(virtualSizeBytes, async () => {
    await qmp.run('blockdev-backup', { ...job, ...ends }, PATIENCE_MS)
  })
}

/** Moves a finished draft out of QEMU's folder, so that it counts as finished whatever happens to QEMU. */
async function keepWhole(draft: string, whole: string): Promise<void> {
  await using file = await open(draft, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  await file.sync()
  await rename(draft, whole)
  await syncFolder(dirname(whole))
}

/** The size of the machine's disk, and its folder as QEMU sees it: the data folder may have been renamed since. */
export async function diskOf(qmp: Qmp): Promise<{ virtualSizeBytes: number; folder: string }> {
  const nodes = await qmp.run('query-named-block-nodes', { flat: true }, PATIENCE_MS)
  // QEMU's schema: BlockDeviceInfo.
  const list = nodes as { 'node-name': string; file: string; image: { 'virtual-size': number } }[]
  const of = (name: string) => list.find((node) => node['node-name'] === name)
  return {
    virtualSizeBytes: of('d0')?.image['virtual-size'] ?? 0,
    folder: dirname(of('f0')?.file ?? ''),
  }
}

async function closeTarget(qmp: Qmp): Promise<void> {
  for (const name of NODES)
    await qmp.run('blockdev-del', { 'node-name': name }, PATIENCE_MS).catch(ignore(/Failed to find node/))
}

async function dismiss(qmp: Qmp, id: string): Promise<void> {
  await qmp.run('job-dismiss', { id }, PATIENCE_MS).catch(ignore(/Job not found/))
}

async function copyJobs(qmp: Qmp): Promise<Job[]> {
  const jobs = await qmp.run('query-jobs', {}, PATIENCE_MS)
  // QEMU's schema: JobInfo.
  const list = jobs as ({ id: string; status: string; error?: string } & Record<
    'current-progress' | 'total-progress',
    number
  >)[]
  return list
    .filter(({ id }) => id.startsWith('s-'))
    .map(({ id, status, error = null, ...job }) => ({
      ...{ id, status, error },
      current: job['current-progress'],
      total: job['total-progress'],
    }))
}

function ignore(expected: RegExp): (error: unknown) => void {
  return (error) => {
    if (!expected.test(String(error))) throw error
  }
}
