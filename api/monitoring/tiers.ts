const DAY = 86_400

/**
 * The resolutions at which samples are kept, and for how long, in seconds. The sampler writes the first tier,
 * and derives each other tier from the one before it. Many slots are derived at once, so that a server's
 * samples, which are read together, are stored together.
 */
export const tiers = [
  { resolution: 10, keptFor: DAY, madeEvery: 10 },
  { resolution: 60, keptFor: 7 * DAY, madeEvery: 600 },
  { resolution: 300, keptFor: 30 * DAY, madeEvery: 3_600 },
] as const

export const LONGEST_SPAN = 30 * DAY
