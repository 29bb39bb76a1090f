import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { access, constants, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../../../files.ts'
import { type CpuType, cpuTypes, DriverError } from '../../driver.ts'

export const QEMU = 'qemu-system-x86_64'

export type Accel = 'kvm' | 'tcg'

export interface AccelChoice {
  accel: Accel
  /** The reason as part of a sentence for people. */
  reason: string
}

/**
 * A boot sector that proves that a CPU really runs: it enters long mode with paging, counts twenty million down
 * and writes 42 to port 0xf4, which the device isa-debug-exit turns into exit status 42 * 2 + 1. Less is not
 * enough: where KVM is broken, a few instructions may still get through.
 */
const PROBE_CODE = `
  fa                      cli
  31c0 8ed8 8ec0 8ed0     xor ax,ax; mov ds,ax; mov es,ax; mov ss,ax
  bc007c fc               mov sp,0x7c00; cld
  bf0010 b90018 f3ab      mov di,0x1000; mov cx,0x1800; rep stosw    ; three page tables, zeroed
  c70600100320            mov word [0x1000],0x2003                   ; PML4 -> 0x2000
  c70600200330            mov word [0x2000],0x3003                   ; PDPT -> 0x3000
  c70600308300            mov word [0x3000],0x0083                   ; one 2 MiB page, identity
  66b820000000 0f22e0     mov eax,0x20; mov cr4,eax                  ; PAE
  66b800100000 0f22d8     mov eax,0x1000; mov cr3,eax
  66b9800000c0 0f32       mov ecx,0xc0000080; rdmsr
  0d0001 0f30             or ax,0x100; wrmsr                         ; EFER.LME
  0f20c0 660d01000080     mov eax,cr0; or eax,0x80000001             ; PG, PE
  0f0116907c              lgdt [0x7c90]
  0f22c0                  mov cr0,eax
  66ea5f7c00000800        jmp 8:0x7c5f
  48b88877665544332211    mov rax,0x1122334455667788                 ; 64-bit from here
  b9002d3101              mov ecx,20000000
  ffc9 75fc               dec ecx; jnz -4
  48c1e838 0419           shr rax,56; add al,0x19                    ; 0x11 + 0x19 = 42
  e6f4 f4 ebfd            out 0xf4,al; hlt; jmp -3
  0f1f00                  (padding)
  0000000000000000        GDT: null
  00000000009a2000        GDT: 64-bit code
  0f00 807c0000           its limit and address`

const PROBE_STATUS = 85

export function probeSector(): Buffer {
  const hex = PROBE_CODE.split('\n').map((line) => /^ {2}((?:[0-9a-f]+ )+)/.exec(`${line} `)?.[1] ?? '')
  const sector = Buffer.alloc(512)
  sector.write(hex.join('').replaceAll(' ', ''), 'hex')
  sector.writeUInt16LE(0xaa55, 510)
  return sector
}

/**
 * Boots a sector and checks whether it finishes in time.
 * @returns null if it does; otherwise what happened instead, as part of a sentence
 */
export async function bootSector(accel: Accel, sector: Buffer, timeoutMs: number): Promise<string | null> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-probe-'))
  try {
    const image = join(dir, 'sector.img')
    await writeFile(image, sector)
    const machine = [
      '-machine',
      'pc,graphics=off',
      '-m',
      '16',
      '-nodefaults',
      '-no-user-config',
      '-no-reboot',
    ]
    const args = [
      ...['-accel', accel, '-cpu', accel === 'kvm' ? 'host' : 'max', ...machine, '-display', 'none'],
      ...['-device', 'isa-debug-exit,iobase=0xf4,iosize=1'],
      // A floppy, because SeaBIOS boots no 512-byte disk through virtio.
      ...[
        '-blockdev',
        JSON.stringify({ driver: 'file', 'node-name': 'f', filename: image, 'read-only': true }),
      ],
      ...['-blockdev', '{"driver":"raw","node-name":"d","file":"f","read-only":true}'],
      ...['-device', 'floppy,drive=d'],
    ]
    return await new Promise((resolve) => {
      execFile(QEMU, args, { timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
        if (error === null) resolve('the test ended too early')
        else if (error.code === PROBE_STATUS) resolve(null)
        else if (error.killed) resolve('a test guest hung')
        else resolve(firstComplaint(stderr) ?? error.message)
      })
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function firstComplaint(stderr: string): string | null {
  const line = stderr.split('\n').find((text) => /error|fail|could not|denied/i.test(text))
  return line?.replace(`${QEMU}: `, '').trim() || null
}

/**
 * Chooses KVM or emulation, which differ tenfold in speed, so the choice is always explained. A broken KVM hangs, and
 * the probe waits 12 seconds for it. So a failure is remembered until the host reboots, and until then one shorter
 * try is enough. A working KVM takes a tenth of a second.
 * @param memory a file that holds the host's boot id while KVM is known to fail
 * @throws DriverError unavailable if KVM was requested by name and does not work
 */
export async function chooseAccel(wanted: 'auto' | Accel, memory: string): Promise<AccelChoice> {
  if (wanted === 'tcg') return { accel: 'tcg', reason: 'requested by BERTH_ACCEL=tcg' }
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
  const known = (await readFile(memory, 'utf8').catch(() => '')) === boot
  const closed = await closedTo('/dev/kvm')
  let failure = closed ?? (await bootSector('kvm', probeSector(), known ? 1000 : 2000))
  // A second try, because a busy host may be slow, and wrongly giving up KVM is expensive.
  if (failure !== null && closed === null && !known) failure = await bootSector('kvm', probeSector(), 10_000)
  if (failure === null) {
    await rm(memory, { force: true })
    return { accel: 'kvm', reason: 'a test guest ran successfully' }
  }
  if (closed === null) await writeFile(memory, boot)
  if (wanted === 'kvm')
    throw new DriverError(
      'unavailable',
      `BERTH_ACCEL=kvm is set, but KVM does not work on this host: ${failure}. ` +
        (closed ? '' : 'Turn on virtualization in the firmware and load the kvm module, ') +
        'or use BERTH_ACCEL=tcg, which is about ten times slower.',
    )
  return { accel: 'tcg', reason: `KVM does not work here: ${failure}` }
}

/** Explains why this user may not use an existing device, and what to do; null if permissions are not the problem. */
export async function closedTo(device: string): Promise<string | null> {
  try {
    await access(device, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    if (errorCode(error) !== 'EACCES') return null
    return `this user has no access to ${device}. ${howToOpen(device, await stat(device), readFileSync('/etc/group', 'utf8'))}`
  }
}

/** Tells an ordinary user how to get access to a device: joining its group helps only if the group may open it. */
export function howToOpen(
  device: string,
  { mode, gid }: { mode: number; gid: number },
  groups: string,
): string {
  const [group] =
    groups
      .split('\n')
      .find((line) => line.split(':')[2] === String(gid))
      ?.split(':') ?? []
  if (gid !== 0 && group && (mode & 0o060) === 0o060)
    return `Join its group and log in again: sudo usermod -aG ${group} $USER`
  const commands = `groupadd -fr kvm && chgrp kvm ${device} && chmod 660 ${device} && usermod -aG kvm $USER`
  return `No group may. Give it to one, which lasts until the next boot unless udev does the same (package udev), join, and log in again: sudo sh -c "${commands}"`
}

/** KVM passes the host's own CPU through; TCG can emulate either. */
export function offeredCpuTypes(accel: Accel): readonly CpuType[] {
  if (accel === 'tcg') return cpuTypes
  const vendor = /^vendor_id\s*:\s*(\S+)/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]
  if (vendor === 'AuthenticAMD') return ['amd']
  return vendor === 'GenuineIntel' ? ['intel'] : []
}
