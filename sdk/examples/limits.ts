import { Berth } from '@berth/sdk'

const berth = new Berth({
  baseUrl: process.env.BERTH_URL ?? '',
  token: process.env.BERTH_TOKEN,
  timeoutMs: 10_000,
  retries: 5,
})

// With a key of your own, a POST is carried out only once, even if your program restarts in between.
const order = { idempotencyKey: 'shop-2026-11-21' }
const first = await berth.projects.create({ name: 'Shop' }, order)
const again = await berth.projects.create({ name: 'Shop' }, order)
console.log(first.project_id === again.project_id ? 'one project' : 'two projects')

const { hours_left } = await berth.account.balance({ signal: AbortSignal.timeout(60_000) })
console.log(hours_left === null ? 'nothing costs anything' : `${hours_left} hours left`)
