import type { OperatorScope } from '../../../../api/http/contract/auth.ts'
import { createOperatorToken } from '../../../../api/operator/tokens.ts'
import { type TestApp, testApp } from '../../../harness/app.ts'

export const DAY_MS = 24 * 3600_000

export function makeOperatorToken(t: TestApp, scopes: readonly OperatorScope[], cidrs = ['127.0.0.0/8']) {
  const token = { name: 'shop', scopes, cidrs, expiresAt: t.clock.now() + DAY_MS, createdBy: 'root' }
  return createOperatorToken(t.db, t.clock, token)
}

/** An app, and the calls of a shop with a token for all of the operator's scopes. */
export async function withShop(options: Parameters<typeof testApp>[0] = {}) {
  const t = await testApp(options)
  const { tokenId, value } = await makeOperatorToken(t, ['operator:read', 'operator:write', 'operator:money'])
  return { t, tokenId, value, shop: t.callAs(value) }
}
