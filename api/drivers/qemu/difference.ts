import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BASE, diskNode } from './image-node.ts'
import {
  compress,
  convert,
  copyLimits,
  give,
  type Packed,
  requireSize,
  type Source,
  sha256Of,
} from './pack.ts'

/** If a difference is larger than this share of its full copy, a new full copy is made instead. */
const MOST_SHARE = 0.5

interface Places {
  /** The folder that has all files. */
  folder: string
  /** The file of the difference before it is compressed. */
  draft: string
  /** The file of the compressed difference; the full copy is in the same folder. */
  target: string
}

/**
 * Compresses the clusters (64 KB) of a disk that differ from a full copy. It reads both, so it needs no record of
 * writes.
 * @param wanted the size and hash of the full copy
 * @returns null if the difference is too large
 * @throws as pack does, and Error if the full copy is damaged, since a difference to it would be useless
 */
export async function packDifference(
  { file, base, owner, virtualSizeBytes }: Source,
  wanted: Packed,
  { folder, draft, target }: Places,
  signal: AbortSignal,
): Promise<Packed | null> {
  const full = join(dirname(target), BASE)
  if ((await sha256Of(full, signal)) !== wanted.sha256) throw new Error(`${full} is damaged`)
  await give(file, owner)
  await requireSize(file, virtualSizeBytes)
  await rm(draft, { force: true })
  await writeFile(draft, '', { mode: 0o600, flag: 'wx' })
  await give(draft, owner)
  // A header has room for a name of 1 KB only, so paths are relative to the folder.
  const disk = `json:${JSON.stringify(diskNode(file, base, folder))}`
  // The time is halved: if the difference fails, a full copy follows in the same turn.
  const { timeoutMs, ...limits } = copyLimits(virtualSizeBytes)
  const end = performance.now() + timeoutMs / 2
  const left = () => ({ timeoutMs: Math.max(1, Math.ceil(end - performance.now())) })
  const options = { ...limits, owner, signal, cwd: folder }
  const size = String(virtualSizeBytes)
  await convert(['create', '-q', '-f', 'qcow2', '-b', disk, '-F', 'qcow2', draft, size], {
    ...options,
    ...left(),
  })
  await convert(['rebase', '-q', '-f', 'qcow2', '-b', full, '-F', 'qcow2', draft], { ...options, ...left() })
  await requireSize(draft, virtualSizeBytes)
  const difference = { ...diskNode(draft, null), backing: diskNode(full, null) }
  const packed = await compress(difference, target, {
    owner,
    mostBytes: virtualSizeBytes,
    signal,
    base: BASE,
    ...left(),
  })
  await requireSize(target, virtualSizeBytes)
  await rm(draft)
  return packed.bytes > wanted.bytes * MOST_SHARE ? null : packed
}
