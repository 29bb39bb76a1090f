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

/** A difference that is larger than this share of its full copy is not worth it: a full one replaces it. */
const MOST_SHARE = 0.5

interface Places {
  /** The folder that has all files. */
  folder: string
  /** The difference until it is compressed. */
  draft: string
  /** The full copy is beside it. */
  target: string
}

/**
 * Compresses all that a disk has differently from a full copy, in clusters of 64 KB. It reads both, so it needs no
 * record of what was written.
 * @param wanted the size and hash of the full copy
 * @returns null if the difference is too large
 * @throws as pack does, and Error if the full copy is damaged: nothing could be built on it
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
  // A header has room for a name of a kilobyte: paths start from the folder.
  const disk = `json:${JSON.stringify(diskNode(file, base, folder))}`
  // A full copy, which replaces a difference that fails, needs the other half of the turn.
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
