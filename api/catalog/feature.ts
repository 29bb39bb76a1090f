import { feature } from '../feature.ts'
import { catalogRoutes } from './routes.ts'

export const catalog = feature({
  tags: {
    Catalogue: 'What is on offer: zones, templates, presets, limits, capacity, and what a server would cost.',
  },
  routes: catalogRoutes,
})
