import { feature } from '../feature.ts'
import { catalogRoutes } from './routes.ts'

export const catalog = feature({
  tags: {
    Catalogue: 'Zones, templates, presets, limits, capacity, and price quotes.',
  },
  routes: catalogRoutes,
})
