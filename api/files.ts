import { open, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes so that a reader, also after a power cut, finds the old or the new content, never a part. Mode 0600. */
export async function writeDurably(path: string, content: string | Buffer): Promise<void> {
  const draft = `${path}.tmp`
  await rm(draft, { force: true })
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  await syncFolder(dirname(path))
}

export async function removeDurably(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  await syncFolder(dirname(path))
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Whether there is such a file or folder. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT'
}

/** The system's name of a failure (ENOENT, ENOSPC), or undefined. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return String(error.code)
}
