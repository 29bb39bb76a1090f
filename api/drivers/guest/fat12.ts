/**
 * Writes and reads a 1.44 MB FAT12 volume with a label and a few files in its root directory: just enough for a NoCloud
 * seed. After Microsoft's "FAT: General Overview of On-Disk Format" (fatgen103).
 */

const SECTOR = 512
const CLUSTER_SECTORS = 4
const CLUSTER = SECTOR * CLUSTER_SECTORS
const SECTORS = 2880
const ROOT_ENTRIES = 64
const FAT_SECTORS = 3
const ROOT_START = 1 + 2 * FAT_SECTORS
const DATA_START = ROOT_START + (ROOT_ENTRIES * 32) / SECTOR
const CLUSTERS = Math.floor((SECTORS - DATA_START) / CLUSTER_SECTORS)
const END_OF_CHAIN = 0xfff
/** 2020-01-01: the same files always result in the same bytes. */
const DATE = 0x5021
/** The offsets of a long name's 13 UTF-16 characters in their directory entry. */
const LONG_NAME_SLOTS = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30]

/**
 * @param label at most 11 characters, upper case
 * @param files contents by name; names are long names in ASCII
 * @throws RangeError if the files do not fit
 */
export function fat12Volume(label: string, files: ReadonlyMap<string, Buffer>): Buffer {
  const image = Buffer.alloc(SECTORS * SECTOR)
  writeBootSector(image, label)
  const fat = [0xff8, END_OF_CHAIN]
  const entries = [entry(label.padEnd(11), 0x08, 0, 0)]
  let number = 0
  for (const [name, content] of files) {
    const first = fat.length
    const count = Math.ceil(content.length / CLUSTER)
    if (first + count > CLUSTERS + 2) throw new RangeError('The files are larger than a 1.44 MB volume')
    for (let i = 0; i < count; i++) fat.push(i === count - 1 ? END_OF_CHAIN : first + i + 1)
    content.copy(image, (DATA_START + (first - 2) * CLUSTER_SECTORS) * SECTOR)
    const short = `FILE~${++number}`.padEnd(11)
    entries.push(...longNameEntries(name, short), entry(short, 0x20, count ? first : 0, content.length))
  }
  if (entries.length > ROOT_ENTRIES) throw new RangeError('Too many files for one volume')
  Buffer.concat(entries).copy(image, ROOT_START * SECTOR)
  const table = packed(fat)
  table.copy(image, SECTOR)
  table.copy(image, (1 + FAT_SECTORS) * SECTOR)
  return image
}

/** The files of a volume that fat12Volume has written. */
export function fat12Files(image: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  let name = ''
  for (let at = ROOT_START * SECTOR; image[at]; at += 32) {
    const bytes = image.subarray(at, at + 32)
    if (bytes[11] === 0x0f) {
      const piece = LONG_NAME_SLOTS.map((slot) => String.fromCharCode(bytes.readUInt16LE(slot))).join('')
      name = (piece.split('\0')[0] ?? '') + name
    } else if (bytes[11] === 0x20) {
      // A file's clusters are in one piece.
      const from = (DATA_START + (bytes.readUInt16LE(26) - 2) * CLUSTER_SECTORS) * SECTOR
      const size = bytes.readUInt32LE(28)
      files.set(name, size === 0 ? Buffer.alloc(0) : image.subarray(from, from + size))
      name = ''
    }
  }
  return files
}

function writeBootSector(image: Buffer, label: string): void {
  image.write('\xeb\x3c\x90BERTH   ', 'latin1')
  image.writeUInt16LE(SECTOR, 11)
  image[13] = CLUSTER_SECTORS
  image.writeUInt16LE(1, 14) // reserved sectors: this one
  image[16] = 2 // tables
  image.writeUInt16LE(ROOT_ENTRIES, 17)
  image.writeUInt16LE(SECTORS, 19)
  image[21] = 0xf8 // fixed disk
  image.writeUInt16LE(FAT_SECTORS, 22)
  image.writeUInt16LE(32, 24) // sectors per track, heads: meaningless here, but some readers require them
  image.writeUInt16LE(2, 26)
  image[36] = 0x80
  image[38] = 0x29
  image.writeUInt32LE(0x42455254, 39)
  image.write(`${label.padEnd(11)}FAT12   `, 43, 'latin1')
  image.writeUInt16LE(0xaa55, 510)
}

function entry(name: string, attributes: number, cluster: number, size: number): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.write(name, 'latin1')
  bytes[11] = attributes
  bytes.writeUInt16LE(DATE, 16)
  bytes.writeUInt16LE(DATE, 18)
  bytes.writeUInt16LE(DATE, 24)
  bytes.writeUInt16LE(cluster, 26)
  bytes.writeUInt32LE(size, 28)
  return bytes
}

/** The entries before a file's short name: its real name in pieces, the last piece first. */
function longNameEntries(name: string, short: string): Buffer[] {
  let sum = 0
  for (const char of Buffer.from(short, 'latin1')) sum = (((sum & 1) << 7) + (sum >> 1) + char) & 0xff
  const pieces = Math.ceil(name.length / 13)
  return Array.from({ length: pieces }, (_, index) => {
    const piece = pieces - index
    const bytes = Buffer.alloc(32, 0xff)
    bytes[0] = piece | (index === 0 ? 0x40 : 0)
    bytes[11] = 0x0f
    bytes[12] = 0
    bytes[13] = sum
    bytes.writeUInt16LE(0, 26)
    for (const [i, slot] of LONG_NAME_SLOTS.entries()) {
      const at = (piece - 1) * 13 + i
      if (at <= name.length) bytes.writeUInt16LE(at < name.length ? name.charCodeAt(at) : 0, slot)
    }
    return bytes
  })
}

/** A table of 12-bit numbers, two in three bytes. */
function packed(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(FAT_SECTORS * SECTOR)
  for (const [index, value] of numbers.entries()) {
    const at = index + (index >> 1)
    if (index & 1) {
      bytes[at] = (bytes[at] ?? 0) | ((value & 0xf) << 4)
      bytes[at + 1] = value >> 4
    } else {
      bytes[at] = value & 0xff
      bytes[at + 1] = value >> 8
    }
  }
  return bytes
}
