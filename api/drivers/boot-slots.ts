/**
 * Decides if one more machine may boot. The last free slot is reserved for owners without a booting machine, so that
 * one owner's slow guests do not delay another owner's first.
 * @param booting the owners of booting machines, one entry for each machine
 */
export function mayBoot(owner: string, booting: readonly string[], slots: number): boolean {
  return slots - booting.length > (booting.includes(owner) ? 1 : 0)
}
