import { feature } from '../feature.ts'
import { forgetTraffic } from './traffic.ts'

export const monitoring = feature({
  cleaning: () => ({ old: { traffic: { days: 400, delete: forgetTraffic } } }),
})
