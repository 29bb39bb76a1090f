/** The constants are from seccomp(2) and linux/audit.h. */
const X86_64 = 0xc000003e
/** Calls from here on are those of x32: the same calls by other numbers. */
const X32 = 0x40000000
const ALLOW = 0x7fff0000
const refuseWith = (errno: number) => 0x00050000 + errno
const [EPERM, EAFNOSUPPORT] = [1, 97]

/**
 * Calls in which kernels had vulnerabilities, and io_uring, which opens sockets past any filter. QEMU needs none of
 * them.
 */
const REFUSED = {
  ...{ ptrace: 101, add_key: 248, request_key: 249, keyctl: 250, perf_event_open: 298, bpf: 321 },
  ...{ userfaultfd: 323, io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
}
const SOCKETS = { socket: 41, socketpair: 53 }
/** Other families ignore network namespaces (vsock), or nobody needs them. */
const FAMILIES = { unix: 1, inet: 2, inet6: 10 }

/** Offsets of the fields in struct seccomp_data. */
const AT = { number: 0, architecture: 4, family: 16 }

type Step = [operation: 'load' | 'return', value: number] | [test: 'is' | 'from', value: number, to: string]

/**
 * Returns a seccomp(2) program, 8 bytes for each step, for QEMU processes. It adds to QEMU's own filter, which knows
 * no socket families, and limits what a guest that broke out of QEMU may ask of the kernel. It fits one processor
 * architecture.
 */
export function socketFilter(): Buffer {
  const when = (test: 'is' | 'from', values: Record<string, number>, to: string) =>
    Object.values(values).map((value): Step => [test, value, to])
  return assemble({
    start: [
      ['load', AT.architecture],
      ['is', X86_64, 'number'],
      ['return', refuseWith(EPERM)],
    ],
    number: [
      ['load', AT.number],
      ...when('from', { X32 }, 'refused'),
      ...when('is', REFUSED, 'refused'),
      ...when('is', SOCKETS, 'family'),
      ['return', ALLOW],
    ],
    family: [['load', AT.family], ...when('is', FAMILIES, 'allowed'), ['return', refuseWith(EAFNOSUPPORT)]],
    allowed: [['return', ALLOW]],
    refused: [['return', refuseWith(EPERM)]],
  })
}

/** Assembles steps: a test that holds jumps to its part, otherwise the next step follows. */
function assemble(parts: Record<string, Step[]>): Buffer {
  const places = new Map<string, number>()
  let size = 0
  for (const [name, steps] of Object.entries(parts)) {
    places.set(name, size)
    size += steps.length
  }
  const codes = { load: 0x20, return: 0x06, is: 0x15, from: 0x35 }
  const program = Buffer.alloc(8 * size)
  for (const [at, [operation, value, to]] of Object.values(parts).flat().entries()) {
    program.writeUInt16LE(codes[operation], 8 * at)
    if (to !== undefined) program.writeUInt8((places.get(to) ?? 0) - at - 1, 8 * at + 2)
    program.writeUInt32LE(value, 8 * at + 4)
  }
  return program
}
