import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { Berth, Image } from '@berth/sdk'
import type { Command } from 'commander'
import { allOf } from './all.ts'
import { exitCodes, Refusal } from './errors.ts'
import { placeOf } from './place.ts'
import type { Session } from './session.ts'
import { bytes } from './units.ts'
import { progressBar } from './wait.ts'

export interface FileOptions {
  zone?: string
  osFamily?: string
  user?: string
}

/** Adds options for facts that the service cannot learn from the file of a disk. */
export function addFileOptions(command: Command): Command {
  return command
    .option('--zone <zone>', 'zone of the image (default: the first one)')
    .option('--os-family <family>', 'family of its operating system, such as debian')
    .option('--user <name>', 'user for SSH, which cloud-init in it sets up (default: root)')
}

/** The zone of an image from a file, and the operating system on it. */
export async function systemOf({ berth }: Session, { zone, osFamily, user }: FileOptions) {
  const { zone_slug } = await placeOf(berth, { zone })
  return { zone_slug, ...(osFamily && { os_family: osFamily }), ...(user && { default_username: user }) }
}

/**
 * Uploads a file, or the rest of it, with a progress bar, and begins to make an image of it.
 * @throws Refusal if there is no such file, or on Ctrl-C
 */
export async function uploadImage(
  session: Session,
  file: string,
  options: FileOptions & { name?: string },
): Promise<Image> {
  const { images } = session.berth
  const system = await systemOf(session, options)
  return uploadFile(session, file, options.name, {
    all: () => images.listAll(),
    create: (facts) => images.create({ ...facts, ...system }),
    id: ({ image_id }) => image_id,
    upload: images.upload,
    import: images.import,
  })
}

/** The object that a file becomes. */
type FromFile = Pick<Image, 'status' | 'name' | 'content_bytes' | 'uploaded_bytes'>

/** The calls for images, or for ISOs. */
interface FileCalls<Made extends FromFile> {
  all: () => AsyncIterable<Made>
  create: (facts: { name: string; upload: true; content_bytes: number }) => Promise<Made>
  id: (made: Made) => string
  upload: Berth['images']['upload']
  import: (id: string, body: { sha256: string }) => Promise<Made>
}

/**
 * Uploads a file as uploadImage does.
 * @param given the name of the image or ISO (default: that of the file)
 */
export async function uploadFile<Made extends FromFile>(
  session: Session,
  file: string,
  given: string | undefined,
  calls: FileCalls<Made>,
): Promise<Made> {
  const { terminal } = session
  const facts = await stat(file).catch(() => null)
  if (!facts?.isFile()) throw new Refusal(`No such file: ${file}.`, 'Check its path.', exitCodes.notFound)
  const name = given ?? path.basename(file)
  const begun = await unfinished(calls, name, facts.size)
  const made = begun ?? (await calls.create({ name, upload: true, content_bytes: facts.size }))
  if (begun) session.note(`Continuing at ${bytes(begun.uploaded_bytes)} of ${bytes(facts.size)}.`)
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  terminal.on('SIGINT', interrupt)
  const bar = progressBar(terminal.stderr)
  const onProgress = (arrived: number, all: number) =>
    bar.show({
      type: 'upload',
      progress: Math.floor((arrived / Math.max(all, 1)) * 100),
      step: `${bytes(arrived)} of ${bytes(all)}`,
    })
  try {
    const hash = hashOf(file)
    hash.catch(() => {})
    await calls.upload(calls.id(made), await openAsBlob(file), { signal: interrupted.signal, onProgress })
    return await calls.import(calls.id(made), { sha256: await hash })
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    throw new Refusal('The upload was stopped.', 'Repeat the command to continue it.', exitCodes.interrupted)
  } finally {
    bar.clear()
    terminal.off('SIGINT', interrupt)
  }
}

/** The object whose upload an earlier command began. */
async function unfinished<Made extends FromFile>(
  { all }: FileCalls<Made>,
  name: string,
  size: number,
): Promise<Made | undefined> {
  const made = await allOf(all())
  return made.find((one) => one.status === 'uploading' && one.name === name && one.content_bytes === size)
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}
