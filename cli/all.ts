/** All items of a list that comes in pages. `Array.fromAsync` does this from Node 22 on. */
export async function allOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}
