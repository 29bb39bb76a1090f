import type { Call, TestApp } from '../../harness/app.ts'

export const NOBODY = '00000000-0000-7000-8000-000000000000'

/** Returns a valid body of POST /servers for the catalogue that the API itself offers. */
export async function order(call: Call, more: Record<string, unknown> = {}) {
  const [presets, templates] = await Promise.all([
    call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd'),
    call('GET', '/templates'),
  ])
  const template = templates.body.find((candidate: { slug: string }) => candidate.slug === 'micro')
  return {
    zone_slug: 'local-1',
    template_id: template.template_id,
    plan_type: 'preset',
    preset_id: presets.body[0].preset_id,
    cpu_type: 'amd',
    ...more,
  }
}

/** Makes a server and waits for it; @returns its id */
export async function make(t: TestApp, more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await t.call('POST', '/servers', await order(t.call, more))
  if (status !== 202) throw new Error(`the server was not created: ${JSON.stringify(body)}`)
  await t.finish()
  return body.server_id
}

/** The issues of a reply, as pairs of pointer and code. */
export function issues(body: { errors?: { pointer: string; code: string }[] }): [string, string][] {
  return (body.errors ?? []).map(({ pointer, code }) => [pointer, code])
}
