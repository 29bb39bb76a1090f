import { feature } from '../feature.ts'
import { type ConsoleOptions, consoleRoute } from './routes.ts'

export const consoles = feature({
  routes: (options: ConsoleOptions) => [consoleRoute(options)],
})
