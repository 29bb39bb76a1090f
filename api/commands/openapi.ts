import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { buildApp } from '../app.ts'
import { readCatalog } from '../catalog/file.ts'
import { systemClock } from '../clock.ts'
import { migrate } from '../database/migrate.ts'
import { openSqlite } from '../database/sqlite.ts'
import { Drivers } from '../drivers/drivers.ts'
import { defaultModule } from '../drivers/modules/modules.ts'
import { Secrets } from '../secrets.ts'

const root = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

/** Writes openapi.json as the service serves it, for reviewers and client generators. */
const folder = mkdtempSync(path.join(tmpdir(), 'berth-openapi-'))
const db = openSqlite(path.join(folder, 'berth.db'))
await migrate(db)
const app = await buildApp({
  db,
  clock: systemClock,
  drivers: new Drivers(defaultModule.name, {}),
  catalog: readCatalog(root('catalog.yaml')),
  secrets: new Secrets(Buffer.alloc(32)),
  log: pino({ level: 'silent' }),
  rateLimits: { reads: 1, writes: 1, anonymous: 1 },
  sshPorts: { first: 22000, last: 22999 },
  sshHost: '127.0.0.1',
})
const { body } = await app.http.inject({ method: 'GET', url: '/v1/openapi.json' })
const document: unknown = JSON.parse(body)
writeFileSync(root('openapi.json'), `${JSON.stringify(document, null, 2)}\n`)
await app.close()
rmSync(folder, { recursive: true })
