import { feature } from '../feature.ts'
import { endsFollower, forgetExcessNumbers, forgetNumbers, KEPT_DAYS } from './numbers.ts'

export const hcloud = feature({
  cleaning: () => ({
    old: {
      hcloudEnds: { days: 0, delete: endsFollower() },
      hcloudNumbers: { days: KEPT_DAYS, delete: forgetNumbers },
    },
    excess: { hcloudNumbers: { most: 10_000, delete: forgetExcessNumbers } },
  }),
})
