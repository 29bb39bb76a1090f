import { open } from 'node:fs/promises'

/** The formats of disk images that customers may bring, by QEMU's names. */
export type DiskFormat = 'qcow2' | 'raw' | 'vmdk' | 'vpc' | 'vhdx'

export interface DiskHeader {
  format: DiskFormat
  /** The size of the disk that the file claims to hold. */
  virtualSizeBytes: number
}

/** A file that is not a usable disk image. The message is for its owner. */
export class UnusableDisk extends Error {
  override readonly name = 'UnusableDisk'
}

/** Reads bytes of a file; fewer if it ends before. */
export type ReadBytes = (at: number, length: number) => Promise<Buffer>

interface DiskFile {
  read: ReadBytes
  size: number
  head: Buffer
}

const GIB = 2 ** 30
const SECTOR = 512
const MAX_VIRTUAL_BYTES = 2048 * GIB
const HEAD_BYTES = 32_774
const FLATTEN = 'Flatten it first: qemu-img convert -O qcow2 disk flat.qcow2.'

/** Files that people mistake for usable disk images, and the remedy. */
const FOREIGN: readonly [name: string, remedy: string, magic: string, at: number][] = [
  ['a VDI disk', 'Convert it first: qemu-img convert -O qcow2.', '\x7f\x10\xda\xbe', 64],
  ['a QED disk', 'Convert it first: qemu-img convert -O qcow2.', 'QED\0', 0],
  ['an old VMDK disk', 'Convert it first: qemu-img convert -O qcow2.', 'COWD', 0],
  ['a LUKS volume', 'Only plain disks can be used.', 'LUKS\xba\xbe', 0],
  ['a gzip file', 'Unpack it first: gunzip.', '\x1f\x8b', 0],
  ['an xz file', 'Unpack it first: unxz.', '\xfd7zXZ', 0],
  ['a bzip2 file', 'Unpack it first: bunzip2.', 'BZh', 0],
  ['a zstd file', 'Unpack it first: unzstd.', '\x28\xb5\x2f\xfd', 0],
  ['a zip file', 'Unpack it first: unzip.', 'PK\x03\x04', 0],
  ['a tar archive, as OVA files are', 'Unpack it first (tar xf) and take the disk in it.', 'ustar', 257],
  ['an ISO 9660 image', 'It installs a system and is not one: upload it as an ISO.', 'CD001', 32_769],
  [
    'a VMDK text file that only names the files of a disk',
    'Convert it into one file first: qemu-img convert -O qcow2.',
    '# Disk Descriptor',
    0,
  ],
]

/**
 * Reads the header of an untrusted disk image, before qemu-img could open the files that it names. Only the content
 * decides the format. Sources: QEMU's docs/interop/qcow2.txt, VMware's Virtual Disk Format 1.1, Microsoft's VHD
 * specification and MS-VHDX.
 * @throws UnusableDisk
 */
export async function readDiskHeader(readBytes: ReadBytes, size: number): Promise<DiskHeader> {
  const read: ReadBytes = async (at, length) =>
    at >= 0 && at < size ? readBytes(at, length) : Buffer.alloc(0)
  const file = { read, size, head: await read(0, HEAD_BYTES) }
  const starts = (magic: string) => isAt(file.head, magic, 0)
  if (starts('QFI\xfb')) return { format: 'qcow2', virtualSizeBytes: qcow2Size(file) }
  if (starts('KDMV')) return { format: 'vmdk', virtualSizeBytes: vmdkSize(file) }
  if (starts('vhdxfile')) return { format: 'vhdx', virtualSizeBytes: await vhdxSize(file) }
  const footer = starts('conectix') ? file.head.subarray(0, SECTOR) : await read(size - SECTOR, SECTOR)
  if (footer.length === SECTOR && isAt(footer, 'conectix', 0))
    return { format: 'vpc', virtualSizeBytes: await vhdSize(file, footer) }
  for (const [name, remedy, magic, at] of FOREIGN)
    if (isAt(file.head, magic, at)) throw new UnusableDisk(`The file is ${name}. ${remedy}`)
  if (file.head.length < SECTOR || file.head.readUInt16BE(510) !== 0x55aa)
    throw new UnusableDisk(
      'The file is not a disk image: it is neither qcow2, VMDK, VHD or VHDX, nor a raw disk with a boot sector.',
    )
  return { format: 'raw', virtualSizeBytes: size }
}

/** Reads the header of a file of this host. @throws UnusableDisk */
export function headerOf(file: string): Promise<DiskHeader> {
  return readFrom(file, readDiskHeader)
}

/** Reads a file of this host. */
export async function readFrom<T>(
  file: string,
  work: (read: ReadBytes, size: number) => Promise<T>,
): Promise<T> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  return await work(async (at, length) => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at)
    return buffer.subarray(0, bytesRead)
  }, size)
}

const ISO_AREA = 0x8000
const ISO_SECTOR = 2048
/** The descriptors at the beginning of an ISO, of which UDF has its own among the first. */
const ISO_DESCRIPTORS = 16

/**
 * Checks that an untrusted file begins as an ISO 9660 or UDF image does (ECMA-119, ECMA-167), and reads no further.
 * @throws UnusableDisk
 */
export async function requireIso(read: ReadBytes): Promise<void> {
  const area = await read(ISO_AREA, ISO_DESCRIPTORS * ISO_SECTOR)
  for (let at = 1; at + 5 <= area.length; at += ISO_SECTOR)
    if (['CD001', 'NSR02', 'NSR03'].some((magic) => isAt(area, magic, at))) return
  throw new UnusableDisk(
    'The file is not an ISO image: it is neither ISO 9660 nor UDF. Disks such as qcow2 or raw become images.',
  )
}

/** @throws UnusableDisk if a disk is larger than any server's may be */
export function requireDiskSize(bytes: number): void {
  if (!(bytes > 0)) throw new UnusableDisk('The image is empty.')
  if (!(bytes <= MAX_VIRTUAL_BYTES))
    throw new UnusableDisk(
      `The image's disk is ${Math.ceil(bytes / GIB)} GB, more than the ${MAX_VIRTUAL_BYTES / GIB} GB allowed.`,
    )
}

function isAt(bytes: Buffer, magic: string, at: number): boolean {
  return bytes.toString('latin1', at, at + magic.length) === magic
}

function damaged(what: string): UnusableDisk {
  return new UnusableDisk(`The image is damaged: ${what}. Copy or export it again.`)
}

/** Numbers of 64 bits beyond 2^53 lose digits here, and exceed every bound. */
const u64 = (bytes: Buffer, at: number) => Number(bytes.readBigUInt64BE(at))
const u64le = (bytes: Buffer, at: number) => Number(bytes.readBigUInt64LE(at))

/** Incompatible qcow2 features that are harmless: lazy refcounts, compression type, extended L2 tables. */
const HARMLESS_FEATURES = 0b11001n
const CORRUPT_FEATURE = 0b10n
const DATA_FILE_FEATURE = 0b100n
const LARGEST_L1 = 32 * 2 ** 20
const LARGEST_REFCOUNTS = 8 * 2 ** 20

function qcow2Size({ head, size }: DiskFile): number {
  if (head.length < 104) throw damaged('its header is cut off')
  const version = head.readUInt32BE(4)
  if (version !== 2 && version !== 3)
    throw new UnusableDisk(`The image is qcow2 of an unknown version (${version}).`)
  if (head.readBigUInt64BE(8) !== 0n) throw new UnusableDisk(`The image refers to a backing file. ${FLATTEN}`)
  if (head.readUInt32BE(32) !== 0)
    throw new UnusableDisk('The image is encrypted. Only plain images can be used.')
  const snapshots = head.readUInt32BE(60)
  if (snapshots > 0) throw new UnusableDisk(`The image has ${snapshots} snapshots. ${FLATTEN}`)
  if (version === 3) refuseFeatures(head)
  const clusterBits = head.readUInt32BE(20)
  if (clusterBits < 9 || clusterBits > 21) throw damaged('its clusters have an impossible size')
  const l1Bytes = head.readUInt32BE(36) * 8
  const refcountBytes = head.readUInt32BE(56) * 2 ** clusterBits
  if (l1Bytes > LARGEST_L1 || refcountBytes > LARGEST_REFCOUNTS)
    throw damaged('it claims tables of gigabytes')
  if (u64(head, 40) + l1Bytes > size || u64(head, 48) + refcountBytes > size)
    throw damaged('its tables are beyond its end')
  return u64(head, 24)
}

function refuseFeatures(head: Buffer): void {
  const features = head.readBigUInt64BE(72)
  if (features & DATA_FILE_FEATURE || hasDataFileName(head))
    throw new UnusableDisk(`The image keeps its data in another file. ${FLATTEN}`)
  if (features & CORRUPT_FEATURE) throw damaged('it is marked so')
  if (features & ~HARMLESS_FEATURES) throw new UnusableDisk('The image uses unknown qcow2 features.')
}

/** Searches the header extensions, which follow the header, for the name of an external data file. */
function hasDataFileName(head: Buffer): boolean {
  let at = head.readUInt32BE(100)
  while (at + 8 <= head.length) {
    const type = head.readUInt32BE(at)
    if (type === 0) return false
    if (type === 0x44415441) return true
    at += 8 + Math.ceil(head.readUInt32BE(at + 4) / 8) * 8
  }
  return false
}

/** QEMU reads the text that describes a VMDK disk here, wherever the header says it is. */
const VMDK_TEXT = { at: SECTOR, bytes: 20 * SECTOR }

function vmdkSize({ head }: DiskFile): number {
  if (head.length < 2 * SECTOR) throw damaged('its header is cut off')
  const sectors = u64le(head, 12)
  const text = head.toString('latin1', VMDK_TEXT.at, VMDK_TEXT.at + VMDK_TEXT.bytes)
  // If the header describes no disk, QEMU opens the files that the text names.
  const kind = /^createType\s*=\s*"(\w+)"/m.exec(text)?.[1]
  if (sectors === 0 || kind === undefined)
    throw new UnusableDisk(
      'The VMDK file is one part of a disk. Convert the whole into one file first: qemu-img convert -O qcow2.',
    )
  if (kind !== 'monolithicSparse' && kind !== 'streamOptimized')
    throw new UnusableDisk(
      `The VMDK disk is of the type ${kind}. Convert it first: qemu-img convert -O qcow2 disk.vmdk disk.qcow2.`,
    )
  const parent = /^parentCID\s*=\s*(\w+)/m.exec(text)?.[1] ?? 'ffffffff'
  if (parent.toLowerCase() !== 'ffffffff' || text.includes('parentFileNameHint'))
    throw new UnusableDisk(`The VMDK disk is a snapshot that refers to another disk. ${FLATTEN}`)
  return sectors * SECTOR
}

const VHD = { fixed: 2, dynamic: 3, differencing: 4 }

async function vhdSize({ read, size }: DiskFile, footer: Buffer): Promise<number> {
  const type = footer.readUInt32BE(60)
  if (type === VHD.differencing)
    throw new UnusableDisk(`The VHD disk is a difference that refers to another disk. ${FLATTEN}`)
  if (type === VHD.dynamic) {
    const header = await read(u64(footer, 16), 2 * SECTOR)
    if (header.length < 2 * SECTOR || !isAt(header, 'cxsparse', 0))
      throw damaged('a VHD disk lacks its second header')
    if (u64(header, 16) + header.readUInt32BE(28) * 4 > size) throw damaged('its tables are beyond its end')
  } else if (type !== VHD.fixed) throw damaged(`it is a VHD disk of an unknown type (${type})`)
  return u64(footer, 48)
}

const VHDX_REGIONS = [192 * 1024, 256 * 1024]
const VHDX_METADATA = guid('8B7CA206-4790-4B9A-B8FE-575F050F886E')
const VHDX_PARAMETERS = guid('CAA16737-FA36-4D43-B3B6-33F0AA44E76B')
const VHDX_SIZE = guid('2FA54224-CD1B-4876-B211-5DBED83BF4B8')
const VHDX_ENTRIES = 2047
const HAS_PARENT = 0b10

async function vhdxSize({ read }: DiskFile): Promise<number> {
  const sizes: number[] = []
  // QEMU may use either of the two region tables, so both must be harmless.
  for (const at of VHDX_REGIONS) {
    const regions = await read(at, 64 * 1024)
    const place = isAt(regions, 'regi', 0) && entryOf(regions, VHDX_METADATA, 8, 16)
    if (!place) continue
    const start = u64le(place, 16)
    const metadata = await read(start, 64 * 1024)
    if (!isAt(metadata, 'metadata', 0)) throw damaged('a VHDX disk lacks its metadata')
    const item = async (id: Buffer) => {
      const entry = entryOf(metadata, id, 10, 32)
      return entry ? read(start + entry.readUInt32LE(16), 8) : Buffer.alloc(0)
    }
    const [parameters, virtual] = [await item(VHDX_PARAMETERS), await item(VHDX_SIZE)]
    if (parameters.length < 8 || virtual.length < 8) throw damaged('a VHDX disk lacks its metadata')
    if (parameters.readUInt32LE(4) & HAS_PARENT)
      throw new UnusableDisk(`The VHDX disk is a difference that refers to another disk. ${FLATTEN}`)
    sizes.push(u64le(virtual, 0))
  }
  if (sizes.length === 0) throw damaged('a VHDX disk lacks its regions')
  return Math.max(...sizes)
}

/** Finds an entry of 32 bytes in a table of VHDX, which begins with their number. */
function entryOf(table: Buffer, id: Buffer, countAt: number, firstAt: number): Buffer | undefined {
  if (table.length < firstAt) return undefined
  const count = countAt === 8 ? table.readUInt32LE(8) : table.readUInt16LE(10)
  for (let left = Math.min(count, VHDX_ENTRIES), at = firstAt; left > 0; left--, at += 32)
    if (at + 32 <= table.length && table.subarray(at, at + 16).equals(id)) return table.subarray(at, at + 32)
  return undefined
}

/** The bytes of a GUID as Microsoft's formats have them: the first three parts are little-endian. */
function guid(text: string): Buffer {
  const [a = '', b = '', c = '', ...rest] = text.split('-').map((part) => Buffer.from(part, 'hex'))
  return Buffer.concat([...[a, b, c].map((part) => Buffer.from(part).reverse()), ...rest.map(Buffer.from)])
}
