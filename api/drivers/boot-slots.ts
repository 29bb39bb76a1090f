/**
 * Decides if one more machine may boot. An owner who holds a slot leaves the last free one to others, so that slow
 * guests of one owner do not delay another owner's first.
 * @param booting the owners of booting machines, one entry for each machine
 */
export function mayBoot(owner: string, booting: readonly string[], slots: number): boolean {
  return slots - booting.length > (booting.includes(owner) ? 1 : 0)
}
