/** How many machines are looked at at the same time. */
const WIDTH = 32

/** Does the work for each thing, for some at a time. */
export async function inParallel<T>(things: readonly T[], work: (thing: T) => Promise<void>): Promise<void> {
  const next = things.values()
  const worker = async () => {
    for (const thing of next) await work(thing)
  }
  await Promise.all(Array.from({ length: WIDTH }, worker))
}
