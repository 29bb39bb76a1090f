const DAY = 86_400

/**
 * How finely and for how long samples are kept, in seconds. The sampler writes the first tier, each other one is made
 * of the one before it.
 */
export const tiers = [
  { resolution: 10, keptFor: DAY },
  { resolution: 60, keptFor: 7 * DAY },
  { resolution: 300, keptFor: 30 * DAY },
] as const

export type Tier = (typeof tiers)[number]

export const LONGEST_SPAN = 30 * DAY
