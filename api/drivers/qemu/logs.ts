import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isMissing } from '../../files.ts'

const LIMIT = 1024 * 1024
const KEPT = 64 * 1024

/**
 * Limits a log that a guest can fill: beyond 1 MB, only its last 64 KB are kept. The writer has the file open for
 * appending, so it continues at the new end. A line written during the cut may be lost.
 */
export async function boundLog(path: string): Promise<void> {
  const file = await openLog(path, constants.O_RDWR | constants.O_APPEND)
  if (!file) return
  try {
    const { size } = await file.stat()
    if (size <= LIMIT) return
    const kept = await readEnd(file, size, KEPT)
    await file.truncate(0)
    await file.write(kept)
  } finally {
    await file.close()
  }
}

/** Returns the last bytes of a log as text. */
export async function endOfLog(path: string, bytes: number): Promise<string> {
  return (await lastBytes(path, bytes)).toString('utf8')
}

/** Returns the last bytes of a log, which may be in two files; empty if there is none. */
export async function lastBytes(path: string, bytes: number): Promise<Buffer> {
  const end = await endOfFile(path, bytes)
  return Buffer.concat([await endOfFile(`${path}.1`, bytes), end]).subarray(-bytes)
}

async function endOfFile(path: string, bytes: number): Promise<Buffer> {
  const file = await openLog(path, constants.O_RDONLY)
  if (!file) return Buffer.alloc(0)
  try {
    return await readEnd(file, (await file.stat()).size, bytes)
  } finally {
    await file.close()
  }
}

/**
 * Opens a log safely: QEMU's user owns the folder and could replace the log by a link, or by a pipe that blocks the
 * service.
 */
async function openLog(path: string, flags: number): Promise<FileHandle | null> {
  try {
    const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await file.stat()).isFile()) return file
    await file.close()
    return null
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function readEnd(file: FileHandle, size: number, bytes: number): Promise<Buffer> {
  const length = Math.max(0, Math.min(size, bytes))
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, size - length)
  return buffer.subarray(0, bytesRead)
}
