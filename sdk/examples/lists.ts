import { Berth } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

for await (const server of berth.servers.listAll({ status: 'running', sort: 'name' }))
  console.log(`${server.name}: ${server.price_month_rub} a month`)

const page = await berth.transactions.list({ limit: 10 })
console.log(`${page.items.length} of ${page.total} transactions`)
