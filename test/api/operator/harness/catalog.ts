import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type CatalogPlace, openCatalog } from '../../../../api/catalog/live.ts'
import type { OperatorScope } from '../../../../api/http/contract/auth.ts'
import { catalogText, type testApp } from '../../../harness/app.ts'
import { makeOperatorToken, withShop } from './shop.ts'

const NOW = Date.parse('2026-11-28')
export const MIRROR = 'https://bob:s3cret@img.example.com/own.qcow2?X-Signature=abc'
export const MASKED = 'https://***@img.example.com/own.qcow2?***'
export const HASH = 'f'.repeat(64)

export const withSource = (source: string) => catalogText.replace('- build: micro', `- { ${source} }`)
export const secretText = withSource(`url: "${MIRROR}", sha256: ${HASH}`)

interface FileOptions {
  scopes?: readonly OperatorScope[]
  ordered?: CatalogPlace['ordered']
  app?: Parameters<typeof testApp>[0]
}

/** A catalogue in a file of a folder of its own, opened as the service opens it. */
export async function catalogFile(text: string, ordered: CatalogPlace['ordered'] = async () => []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-catalog-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'catalog.yaml')
  writeFileSync(file, text)
  const images = { ready: async () => null }
  const lastGood = path.join(folder, 'last-good.yaml')
  const opened = await openCatalog({ file, lastGood, images, ordered, held: async () => [] }, NOW)
  return { opened, folder, file, write: (next: string) => writeFileSync(file, next) }
}

/** A catalogue file, by default with a secret in it, the shop's app, and calls with a token of these scopes. */
export async function withFile(text = secretText, options: FileOptions = {}) {
  const { scopes = ['operator:read'], ordered, app = {} } = options
  const place = await catalogFile(text, ordered)
  const { opened } = place
  const { t } = await withShop({ ...app, catalog: opened.catalog, catalogText: opened })
  const call = t.callAs((await makeOperatorToken(t, scopes)).value)
  const check = async (next: string) => (await call('POST', '/operator/catalog/check', { text: next })).body
  return { t, call, check, ...place }
}
