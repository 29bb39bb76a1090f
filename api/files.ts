import { randomBytes } from 'node:crypto'
import { constants, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { chmod, chown, open, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import path, { dirname } from 'node:path'

/**
 * Writes so that a reader, also after a power cut, finds the old or the new content, never a part.
 * @param mode the file's mode from the first moment (default: readable by this user only)
 */
export async function writeDurably(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  await writeThen(path, content, mode, async () => {})
}

/**
 * Writes as `writeDurably` does, for a file that other users may read and edit.
 * @param like the mode and the owner that the file gets
 * @throws Error of the system, also if this user may not give files to the owner
 */
export async function replaceDurably(
  path: string,
  content: string,
  like: { mode: number; uid: number; gid: number },
): Promise<void> {
  await writeThen(path, content, 0o600, async (draft) => {
    await chown(draft, like.uid, like.gid)
    await chmod(draft, like.mode & 0o777)
  })
}

async function writeThen(
  path: string,
  content: string | Buffer,
  mode: number,
  prepare: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = draftOf(path)
  try {
    await writeFile(draft, content, { mode, flag: 'wx', flush: true })
    await prepare(draft)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Like writeDurably, for callers that cannot wait. After a power cut the old content may be back. */
export function writeWholeSync(path: string, content: string): void {
  const draft = draftOf(path)
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Each write has a temporary name of its own, since several processes may write the same file. */
function draftOf(path: string): string {
  return `${path}.${randomBytes(4).toString('hex')}.tmp`
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

/** True if a file or folder exists at the path. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** True if every user may enter this folder and all above it that exist. */
export function isPassable(folder: string): boolean {
  return closedFolder(folder) === null
}

/** The first folder on the path, from the root, that some users may not enter. */
export function closedFolder(folder: string): string | null {
  const above = dirname(folder)
  const closed = above === folder ? null : closedFolder(above)
  if (closed !== null) return closed
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat && (stat.mode & constants.S_IXOTH) === 0 ? folder : null
}

export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT'
}

/** The system's name of a failure (ENOENT, ENOSPC), or undefined. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return String(error.code)
}

/**
 * The default data folder: `data` of the checkout. If root starts the service, machines run as users of their own, who
 * can't enter a checkout below /root; then it is the system's place. An existing installation stays where it is.
 */
export function defaultDataDir(
  isRoot = process.getuid?.() === 0,
  { checkout = path.resolve('data'), system = '/var/lib/berth' } = {},
): string {
  const isInstalled = (folder: string) => existsSync(path.join(folder, 'berth.db'))
  if (!isRoot || isInstalled(checkout)) return checkout
  return !isInstalled(system) && isPassable(checkout) ? checkout : system
}
