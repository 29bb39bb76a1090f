const DAY = 86_400

/**
 * How finely and for how long samples are kept, in seconds. The sampler writes the first tier, each other one is made
 * of the one before it: many slots at once, so that samples of one server, which are read together, lie together.
 */
export const tiers = [
  { resolution: 10, keptFor: DAY, madeEvery: 10 },
  { resolution: 60, keptFor: 7 * DAY, madeEvery: 600 },
  { resolution: 300, keptFor: 30 * DAY, madeEvery: 3_600 },
] as const

export const LONGEST_SPAN = 30 * DAY
