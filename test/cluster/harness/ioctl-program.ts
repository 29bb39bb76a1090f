const START = 0x400000
const ENTRY = 0x90
const FOLDER = 0x100
const ARGUMENT = 0x108
/** The offsets of the name in the two structs of btrfs's calls. */
const NAMES = [8, 56]
const LENGTH = ARGUMENT + 64
/** Zeros follow the file, because both structs take 4 KB. */
const MEMORY = 0x2000
const O_DIRECTORY = 0x10000

export type Bits = 32 | 64

/**
 * For tests: a program of Linux on x86-64, which sends one ioctl to the current folder, with the name `made` where a new
 * subvolume's is. It exits with the number of the error; 0: the call succeeded.
 */
export function ioctlProgram(bits: Bits, number: number): Buffer {
  const file = Buffer.alloc(LENGTH)
  file.write('\x7fELF', 'latin1')
  file.set([bits / 32, 1, 1], 4)
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(bits === 64 ? 62 : 3, 18)
  file.writeUInt32LE(1, 20)
  file.writeUInt32LE(START + ENTRY, 24)
  const [header, part] = bits === 64 ? [64, 56] : [52, 32]
  file.writeUInt32LE(header, bits === 64 ? 32 : 28)
  for (const [index, size] of [header, part, 1].entries())
    file.writeUInt16LE(size, (bits === 64 ? 52 : 40) + 2 * index)
  // A single segment loads the whole file as readable, writable and executable.
  const place = [0, START, START, LENGTH, MEMORY]
  const align = 0x1000
  if (bits === 64) {
    file.set([...word(1), ...word(7)], header)
    for (const [index, value] of [...place, align].entries())
      file.writeUInt32LE(value, header + 8 + 8 * index)
  } else file.set([1, ...place, 7, align].flatMap(word), header)
  file.set(codeOf(bits, number), ENTRY)
  file.write('.', FOLDER)
  for (const at of NAMES) file.write('made', ARGUMENT + at)
  return file
}

function word(value: number): number[] {
  return [0, 8, 16, 24].map((shift) => (value >>> shift) & 255)
}

/** open(".", O_DIRECTORY), ioctl(that, number, the argument), exit(-error) */
function codeOf(bits: Bits, number: number): number[] {
  const [folder, argument] = [word(START + FOLDER), word(START + ARGUMENT)]
  const [flags, call] = [word(O_DIRECTORY), word(number)]
  if (bits === 64)
    return [
      ...[0xb8, ...word(2), 0xbf, ...folder, 0xbe, ...flags, 0x0f, 0x05, 0x89, 0xc7],
      ...[0xb8, ...word(16), 0xbe, ...call, 0xba, ...argument, 0x0f, 0x05],
      ...[0xf7, 0xd8, 0x89, 0xc7, 0xb8, ...word(60), 0x0f, 0x05],
    ]
  return [
    ...[0xb8, ...word(5), 0xbb, ...folder, 0xb9, ...flags, 0xcd, 0x80, 0x89, 0xc3],
    ...[0xb8, ...word(54), 0xb9, ...call, 0xba, ...argument, 0xcd, 0x80],
    ...[0xf7, 0xd8, 0x89, 0xc3, 0xb8, ...word(1), 0xcd, 0x80],
  ]
}
