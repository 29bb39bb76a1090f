import { expect } from 'vitest'
import { bootableIso } from '../../../api/drivers/test-iso.ts'
import type { TestApp } from '../../harness/app.ts'
import { order } from './ordering.ts'

export const FILE = bootableIso('An installer')

export async function announced(t: TestApp, content_bytes = FILE.length): Promise<string> {
  const { zone_slug } = await order(t.call)
  const { status, body } = await t.call('POST', '/isos', {
    ...{ name: 'installer', upload: true, content_bytes, zone_slug },
  })
  expect([status, body.status]).toEqual([202, 'uploading'])
  return body.iso_id as string
}

export async function send(t: TestApp, id: string, part: Buffer, offset = 0) {
  const { statusCode } = await t.app.http.inject({
    ...{ method: 'PATCH', url: `/v1/isos/${id}/content`, payload: part },
    headers: {
      authorization: `Bearer ${t.token}`,
      'content-type': 'application/octet-stream',
      'upload-offset': String(offset),
    },
  })
  return statusCode
}

/** Uploads an ISO in one part, and waits until it was checked. */
export async function uploaded(t: TestApp, file = FILE): Promise<string> {
  const id = await announced(t, file.length)
  expect(await send(t, id, file)).toBe(200)
  expect((await t.call('POST', `/isos/${id}/import`, {})).status).toBe(202)
  await t.finish()
  return id
}
