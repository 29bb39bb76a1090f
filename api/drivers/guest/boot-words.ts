/** The last messages of boot loaders, kernels and init systems on the console of a system that does not start. */
const FAILURES = new RegExp(
  [
    ...['Kernel panic - not syncing', 'Unable to mount root fs', 'root file system cannot be mounted'],
    ...['You are in (?:emergency|rescue) mode', 'Dropping to a shell', '\\(initramfs\\)'],
    ...['grub rescue>', 'No bootable device', 'not a bootable disk'],
  ].join('|'),
)
/** Only a login counts, since an initial RAM disk may run the same init system, but offers none. */
const SUCCESSES = /^[^\r\n]{0,200}login: ?$|Reached target .{0,20}Multi-User System/m

/** Searches the end of a console. @returns the message of a failure, and whether the system is up */
export function bootWords(console: Buffer): { failure: string | null; isUp: boolean } {
  const text = console.toString('latin1')
  return { failure: FAILURES.exec(text)?.[0] ?? null, isUp: SUCCESSES.test(text) }
}
