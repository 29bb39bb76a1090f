import { feature } from '../feature.ts'
import { type ConsoleOptions, consoleRoutes } from './routes.ts'

export const consoles = feature({
  routes: (options: ConsoleOptions) => consoleRoutes(options),
})
