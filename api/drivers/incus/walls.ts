/**
 * System calls that a guest's root may not make. On btrfs an owner of files can create subvolumes, whose data counts
 * toward no size.
 */
export const SUBVOLUME_CALLS = {
  BTRFS_IOC_SNAP_CREATE: 0x50009401,
  BTRFS_IOC_SUBVOL_CREATE: 0x5000940e,
  BTRFS_IOC_SNAP_CREATE_V2: 0x50009417,
  BTRFS_IOC_SUBVOL_CREATE_V2: 0x50009418,
  BTRFS_IOC_SUBVOL_SETFLAGS: 0x4008941a,
  BTRFS_IOC_SET_RECEIVED_SUBVOL: 0xc0c89425,
  /** The same for programs of 32 bits. */
  BTRFS_IOC_SET_RECEIVED_SUBVOL_32: 0xc0c09425,
} as const

/** The error of a file system without subvolumes (ENOTTY), at which programs create a folder instead. */
const NOT_SUPPORTED = 25
/** The kernel reads 32 bits of the number; any others may be set. */
const BITS = 0xffffffff

/** The lines of LXC's seccomp policy, in force for every architecture of the member. */
export const DENIED = {
  'security.syscalls.deny': Object.values(SUBVOLUME_CALLS)
    .map((number) => `ioctl errno ${NOT_SUPPORTED} [1,${number},SCMP_CMP_MASKED_EQ,${BITS}]`)
    .join('\n'),
} as const

/** True if the next start of an instance has these walls, no matter who starts it. */
export function isWalled(config: Readonly<Record<string, string>> | null): boolean {
  return Object.entries(DENIED).every(([key, value]) => config?.[key] === value)
}
