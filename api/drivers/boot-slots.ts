/**
 * Whether one more machine may boot. Its owner leaves the last free slot to others as soon as it holds one itself,
 * so that nobody's guests, however long they take, hold up somebody else's first.
 * @param booting the owners of the machines that boot, one entry for each
 */
export function mayBoot(owner: string, booting: readonly string[], slots: number): boolean {
  return slots - booting.length > (booting.includes(owner) ? 1 : 0)
}
