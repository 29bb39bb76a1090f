import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../clock.ts'
import type { ImageSource, ImageSpec } from '../../images.ts'
import { buildVersion, runBuild } from './build.ts'
import { type Checksum, findChecksum, hashFile, parseChecksum } from './checksum.ts'
import { type DownloadLimits, download, fetchSmall, requireRoom } from './download.ts'
import type { DirectBoot } from './images.ts'
import { ImageError } from './inspect.ts'
import { verifySigned } from './signature.ts'

const ANSWER_MS = 5_000

type UrlSource = Extract<ImageSource, { type: 'url' }>
type FileSource = Extract<ImageSource, { type: 'file' }>

/** `fraction` is 0 to 1 over the whole preparation, `detail` a phrase for people. */
export type Report = (fraction: number, detail: string) => void

/** Keys under which a source's image is recorded; the first is the current one. */
export type SourceKeys = readonly [string, ...string[]]

export interface SourcePlace {
  /** The folder with the build scripts. */
  scripts: string
}

export interface FetchWork {
  slug: string
  /** A folder for partial work, where an interrupted attempt is continued. */
  dir: string
  /** An empty folder for the image's files. */
  out: string
  place: SourcePlace
  clock: Clock
  signal: AbortSignal
  limits: DownloadLimits
  report: Report
}

/** A disk whose checksum is right but that is not inspected yet. */
export interface Fetched {
  disk: string
  sha256: string | null
  direct: DirectBoot | null
}

/** Describes a source for people, without paths of this host. */
export function describe(source: ImageSource): string {
  if (source.type === 'url')
    return `download from ${URL.canParse(source.url) ? new URL(source.url).host : 'a broken address'}`
  return source.type === 'file'
    ? `the operator's file ${path.basename(source.path)}`
    : `build of ${source.name}`
}

/**
 * Returns the keys of a source. Another address, checksum, file or build script is another source, whose image is
 * prepared anew.
 * @throws ImageError for a build that does not exist
 */
export async function sourceKeys(source: ImageSource, place: SourcePlace): Promise<SourceKeys> {
  if (source.type === 'url')
    return [key('url', source.url, source.sha256, source.sha512, source.checksums_url)]
  if (source.type === 'build') return [key('build', source.name, buildVersion(place.scripts, source.name))]
  const { path: file } = source
  const last = key('file', file, source.sha256)
  const found = await stat(file).catch(() => null)
  // The operator may remove the file once its image is here: then the previous key counts.
  return found ? [key('file', file, source.sha256, found.size, found.mtimeMs), last] : [last]
}

/** True if an image has to be built here because none of its servers answers. */
export async function willBeBuilt({ sources }: ImageSpec): Promise<boolean> {
  for (const source of sources) {
    if (source.type === 'build') return true
    if (source.type === 'file' || (await doesAnswer(source.url))) return false
  }
  return false
}

async function doesAnswer(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(ANSWER_MS) })).ok
  } catch {
    return false
  }
}

/** Fetches the disk of a source and verifies its checksum. @throws ImageError */
export async function fetchSource(source: ImageSource, work: FetchWork): Promise<Fetched> {
  if (source.type === 'url') return fetchUrl(source, work)
  if (source.type === 'file') return fetchFile(source, work)
  await runBuild({
    name: source.name,
    scripts: work.place.scripts,
    out: work.out,
    work: path.join(work.dir, 'work'),
    signal: work.signal,
    onProgress: (fraction, phrase) => work.report(fraction * 0.95, phrase),
  })
  const disk = path.join(work.out, 'disk.qcow2')
  return { disk, sha256: null, direct: await readBoot(path.join(work.out, 'manifest.json')) }
}

async function fetchUrl(source: UrlSource, work: FetchWork): Promise<Fetched> {
  if (!URL.canParse(source.url)) throw new ImageError('The address is not a valid URL.', source.url)
  const expected = await expectedChecksum(source, work)
  const file = path.join(work.dir, 'part')
  for (;;) {
    const { resumed } = await download({
      url: source.url,
      file,
      clock: work.clock,
      signal: work.signal,
      limits: work.limits,
      onProgress: (done, total) => work.report(total ? (done / total) * 0.9 : 0, phrase(done, total)),
    })
    const sha256 = await verify(file, expected, work)
    if (sha256) return { disk: file, sha256, direct: null }
    await rm(file, { force: true })
    await rm(`${file}.json`, { force: true })
    // A resumed download may mix two versions of the file; one fetched in a single run shows the server's fault.
    if (!resumed) {
      throw new ImageError(`The download does not match its ${expected.algorithm}.`, source.url)
    }
  }
}

async function expectedChecksum(source: UrlSource, work: FetchWork): Promise<Checksum> {
  if (source.sha512) return parseChecksum('sha512', source.sha512)
  if (source.sha256) return parseChecksum('sha256', source.sha256)
  if (!source.checksums_url)
    throw new ImageError('The template has no checksum for it, which downloads require.')
  if (!URL.canParse(source.checksums_url))
    throw new ImageError('The address of the checksum list is not a valid URL.')
  const text = await checksumList(source, source.checksums_url, work)
  const name = decodeURIComponent(new URL(source.url).pathname.split('/').at(-1) ?? '')
  const found = findChecksum(text, name)
  if (!found) throw new ImageError(`The checksum list does not contain ${name}.`, source.checksums_url)
  return found
}

/** Returns the list of checksums, verified by the vendor's signature unless the catalogue says `unsigned`. */
async function checksumList(source: UrlSource, url: string, work: FetchWork): Promise<string> {
  const fetched = (from: string) => {
    if (!URL.canParse(from))
      throw new ImageError('The address of a signature or key is not a valid URL.', from)
    return fetchSmall({ ...work, url: from })
  }
  const { signature_url, key_url, fingerprint, unsigned = false } = source
  const isSigned = key_url !== undefined && fingerprint !== undefined
  if (!isSigned && !unsigned)
    throw new ImageError(
      'The checksum list is not signed. Give the template key_url and fingerprint, with signature_url unless the list is clear-signed; or sha512; or unsigned: true if the vendor signs nothing.',
      url,
    )
  const text = await fetched(url)
  if (!isSigned) return text.toString('utf8')
  const signature = signature_url === undefined ? null : await fetched(signature_url)
  const signed = { text, signature, keys: await fetched(key_url), fingerprint }
  return verifySigned(signed, work.dir, work.signal)
}

/** Returns the file's sha256, or null if the checksum differs. */
async function verify(file: string, expected: Checksum, work: FetchWork): Promise<string | null> {
  const { size } = await stat(file)
  const hashes = await hashFile(
    file,
    [...new Set(['sha256', expected.algorithm] as const)],
    size,
    work.signal,
    (fraction) => work.report(0.9 + fraction * 0.07, 'verifying the checksum'),
  )
  return hashes.get(expected.algorithm) === expected.hex ? (hashes.get('sha256') ?? null) : null
}

async function fetchFile(source: FileSource, work: FetchWork): Promise<Fetched> {
  const { path: from } = source
  const disk = path.join(work.dir, 'copy')
  work.report(0, 'copying')
  const { size = 0 } = (await stat(from).catch(() => null)) ?? {}
  await requireRoom(work.dir, size, work.limits)
  try {
    // The copy shares the blocks if the file system supports it.
    await copyFile(from, disk, constants.COPYFILE_FICLONE)
  } catch (error) {
    throw new ImageError('The file does not exist or cannot be read.', String(error))
  }
  if (!source.sha256) return { disk, sha256: null, direct: null }
  // The copy is verified, since the operator's file may change in the meantime.
  const sha256 = await verify(disk, parseChecksum('sha256', source.sha256), work)
  if (!sha256) throw new ImageError('The file does not match the sha256 in the catalogue.', from)
  return { disk, sha256, direct: null }
}

async function readBoot(file: string): Promise<DirectBoot | null> {
  // The service's own build scripts wrote the file.
  return (JSON.parse(await readFile(file, 'utf8')) as { direct: DirectBoot | null }).direct
}

function phrase(done: number, total: number | null): string {
  return total
    ? `downloading ${Math.floor((done / total) * 100)}%`
    : `downloading, ${Math.floor(done / 2 ** 20)} MB so far`
}

function key(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}
