import { feature } from '../../feature.ts'
import { portQuota } from './ports.ts'

export const ports = feature({ quotas: [portQuota] })
