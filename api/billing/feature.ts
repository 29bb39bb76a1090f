import { feature } from '../feature.ts'
import { billingRoutes } from './routes.ts'

export const billing = feature({ routes: billingRoutes })
