import { readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { Call, TestApp } from '../../harness/app.ts'
import { type Cost, countStatements } from '../../harness/statements.ts'

/** Every route, as `GET /servers/{server_id}`. */
export const routes = Object.entries<object>(
  JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8')).paths,
).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))

const patterns = routes.map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}))

function routeOf(method: string, path: string): string {
  const called = `${method} ${path.split('?')[0]}`
  const exact = routes.find((route) => route === called)
  const route = exact ?? patterns.find(({ pattern }) => pattern.test(called))?.route
  if (!route) throw new Error(`no such route: ${called}`)
  return route
}

/** Notes the cost of routes and of background work. */
export class Meter {
  readonly costs = new Map<string, Cost>()
  readonly #count = countStatements()

  constructor() {
    onTestFinished(() => this.#count.stop())
  }

  /** Notes the cost of some work. */
  async note<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    if (this.costs.has(name)) throw new Error(`the cost of ${name} is known already`)
    const before = this.#count.sinceStart()
    const result = await work()
    const after = this.#count.sinceStart()
    this.costs.set(name, {
      statements: after.statements - before.statements,
      transactions: after.transactions - before.transactions,
      trips: after.trips - before.trips,
    })
    return result
  }

  /**
   * A caller whose first successful use of each route is noted.
   * @param warmUp a path to read first, so that the time of the last use of the credential is up to date
   */
  measured({ app, clock }: Pick<TestApp, 'app' | 'clock'>, call: Call, warmUp: string | null): Call {
    let warmedAt = 0
    const whole: Call = async (...request) => {
      const reply = await call(...request)
      // The reply does not wait for the drivers of firewalls, ports and addresses.
      await app.connectivity.settled()
      return reply
    }
    return async (method, path, body, headers) => {
      const route = routeOf(method, path)
      if (warmUp !== null && warmedAt !== clock.now()) await call('GET', warmUp)
      warmedAt = clock.now()
      if (this.costs.has(route)) return whole(method, path, body, headers)
      const reply = await this.note(route, () => whole(method, path, body, headers))
      if (reply.status >= 400)
        throw new Error(`${method} ${path} returned ${reply.status}: ${JSON.stringify(reply.body)}`)
      return reply
    }
  }

  /** The table, sorted: what routes cost, and then the work in the background. */
  table(isOnPostgres: boolean): string {
    const rows = [...this.costs]
      .sort(([one], [other]) => rankOf(one) - rankOf(other))
      .map(([name, { statements, transactions, trips }]) => {
        const figures = [statements, transactions, ...(isOnPostgres ? [trips] : [])]
        return `${name.padEnd(WIDTH)}${figures.map((figure) => String(figure).padStart(14)).join('')}`
      })
    const columns = ['statements', 'transactions', ...(isOnPostgres ? ['round trips'] : [])]
    const head = `${''.padEnd(WIDTH)}${columns.map((column) => column.padStart(14)).join('')}`
    return `${[head, ...rows].join('\n')}\n`
  }
}

const WIDTH = 60

/** Routes come in the order of the API's description, and other work after them in the order of the test. */
function rankOf(name: string): number {
  const at = routes.indexOf(name)
  return at === -1 ? routes.length : at
}
