const SECTOR = 2048

/** The places of the parts of an ISO, in sectors. */
const PLACES = { volume: 16, boot: 17, end: 18, catalogue: 19, code: 20, all: 24 }

/**
 * For tests: a bootable ISO (ECMA-119 with El Torito) of 48 KiB, whose program prints a text on the screen by the BIOS
 * and halts.
 */
export function bootableIso(text: string): Buffer {
  const iso = Buffer.alloc(PLACES.all * SECTOR)
  const descriptor = (sector: number, type: number) => {
    iso.writeUInt8(type, sector * SECTOR)
    iso.write('CD001\x01', sector * SECTOR + 1, 'latin1')
    return sector * SECTOR
  }
  const volume = descriptor(PLACES.volume, 1)
  iso.writeUInt32LE(PLACES.all, volume + 80)
  iso.writeUInt32BE(PLACES.all, volume + 84)
  const boot = descriptor(PLACES.boot, 0)
  iso.write('EL TORITO SPECIFICATION', boot + 7, 'latin1')
  iso.writeUInt32LE(PLACES.catalogue, boot + 71)
  descriptor(PLACES.end, 255)
  const catalogue = PLACES.catalogue * SECTOR
  iso.set([1, 0], catalogue)
  iso.set([0xaa, 0x55, 0x55, 0xaa], catalogue + 28)
  // A bootable entry without emulation, whose program has four sectors of 512 bytes.
  iso.set([0x88, 0, 0, 0, 0, 0, 4, 0], catalogue + 32)
  iso.writeUInt32LE(PLACES.code, catalogue + 40)
  Buffer.concat([PROGRAM, Buffer.from(`${text}\0`, 'latin1')]).copy(iso, PLACES.code * SECTOR)
  return iso
}

/** Prints the text that follows it. */
const PROGRAM = Buffer.from([
  ...[0xfc, 0x0e, 0x1f], // cld; push cs; pop ds
  ...[0xbe, 0x17, 0x7c], // mov si, text: the BIOS loads it at 0000:7c00
  ...[0xac, 0x84, 0xc0, 0x74, 0x09], // lodsb; test al, al; jz end
  ...[0xb4, 0x0e, 0xbb, 0x07, 0x00, 0xcd, 0x10], // mov ah, 0eh; mov bx, 7; int 10h
  ...[0xeb, 0xf2], // jmp to lodsb
  ...[0xf4, 0xeb, 0xfd], // hlt; jmp to hlt
])
