import path from 'node:path'
import Type, { type Static } from 'typebox'
import type { ImageSource, ImageSpec } from './images.ts'
import type { Fault, ImageFormat } from './module.ts'

/** Images, checksums and signatures are never downloaded by plain http. */
const Encrypted = Type.String({ pattern: '^https://' })

const download = {
  url: Type.Optional(Encrypted),
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  sha512: Type.Optional(Type.String({ pattern: '^[0-9a-f]{128}$' })),
  checksums_url: Type.Optional(Encrypted),
  signature_url: Type.Optional(Encrypted),
  key_url: Type.Optional(Encrypted),
  fingerprint: Type.Optional(Type.String({ pattern: '^[0-9A-F]{40}$' })),
  unsigned: Type.Optional(Type.Literal(true)),
  file: Type.Optional(Type.String({ minLength: 1 })),
}

const Source = Type.Object({ ...download, build: Type.Optional(Type.String({ minLength: 1 })) })

const fields = { image: Type.Optional(Type.Array(Source, { minItems: 1 })) }
export type DiskImageFields = typeof fields

/** Disk images, which virtual machines start from. */
export const diskImages: ImageFormat<DiskImageFields> = {
  fields,
  faults: ({ image = [] }, pointer) =>
    image.flatMap((source, at) => faultsOf(source).map((fault): Fault => [`${pointer}/image/${at}`, fault])),
  read: ({ image = [] }, folder) => ({ sources: image.map((source) => toSource(source, folder)) }),
  isIn: ({ sources }) => sources.length > 0,
  files: ({ sources }) => sources.flatMap((source) => (source.type === 'file' ? [source.path] : [])),
}

/** The fields of an operator's ISO in the catalogue file: one source, which nothing builds. */
export const isoFields = download

type IsoSource = Static<typeof Source> & { slug: string }

/** Mistakes in the source of an operator's ISO that the schema cannot express. */
export function isoFaults(iso: IsoSource, pointer: string): Fault[] {
  if (iso.url === undefined && iso.file === undefined) return [[pointer, 'an ISO requires a url or a file.']]
  return faultsOf(iso).map((fault): Fault => [pointer, fault])
}

/** @param folder where a relative path starts */
export function isoImage({ slug, ...source }: IsoSource, folder: string): ImageSpec {
  return { slug, sources: [toSource(source, folder)], isIso: true }
}

function faultsOf(source: Static<typeof Source>): string[] {
  const { url, file, build, sha256, sha512, checksums_url, key_url, fingerprint } = source
  const faults: string[] = []
  if ([url, file, build].filter(Boolean).length !== 1)
    faults.push('a source must be one of url, file or build.')
  if (url && !sha256 && !sha512 && !checksums_url)
    faults.push('a url requires sha256, sha512 or checksums_url.')
  if ((key_url === undefined) !== (fingerprint === undefined))
    faults.push('key_url and fingerprint require each other.')
  return faults
}

function toSource({ url, file, build, ...checksums }: Static<typeof Source>, folder: string): ImageSource {
  if (url !== undefined) return { type: 'url', url, ...checksums }
  if (file !== undefined) {
    const { sha256 } = checksums
    return { type: 'file', path: path.resolve(folder, file), ...(sha256 ? { sha256 } : {}) }
  }
  return { type: 'build', name: build ?? '' }
}
