import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { dropIdleUploads } from '../../../api/snapshots/image-files.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { beforeNextTransaction } from '../harness/faults.ts'
import { issues, make, order as orderOf } from '../harness/ordering.ts'

const MIB = 2 ** 20
const DAY_MS = 24 * 3600_000
const LOOPBACK = { address: '127.0.0.1', prefix: 32, family: 'ipv4' as const }

/** A raw disk with a boot sector. */
function diskOf(bytes: number): Buffer {
  const disk = Buffer.alloc(bytes)
  disk.writeUInt16BE(0x55aa, 510)
  return disk
}

const hashOf = (file: Buffer) => createHash('sha256').update(file).digest('hex')
const image = async (t: TestApp, id: string) => (await t.call('GET', `/images/${id}`)).body

async function announced(t: TestApp, content_bytes: number, more: object = {}) {
  const { zone_slug } = await orderOf(t.call)
  const body = { name: 'own', upload: true, content_bytes, zone_slug, ...more }
  const { status, body: begun } = await t.call('POST', '/images', body)
  expect([status, begun.status, begun.uploaded_bytes]).toEqual([202, 'uploading', 0])
  return begun.image_id as string
}

async function send(t: TestApp, id: string, part: Buffer, offset: number | string, headers: object = {}) {
  const reply = await t.app.http.inject({
    method: 'PATCH',
    url: `/v1/images/${id}/content`,
    headers: {
      authorization: `Bearer ${t.token}`,
      'content-type': 'application/octet-stream',
      'upload-offset': String(offset),
      ...headers,
    },
    payload: part,
  })
  return { status: reply.statusCode, body: reply.json() }
}

/** Uploads a file in one part, and waits for the end. */
async function uploaded(t: TestApp, file: Buffer, sha256?: string): Promise<string> {
  const id = await announced(t, file.length)
  expect((await send(t, id, file, 0)).status).toBe(200)
  expect((await t.call('POST', `/images/${id}/import`, sha256 ? { sha256 } : {})).status).toBe(202)
  await t.finish()
  return id
}

test('a file that is uploaded in parts becomes an image, and servers are created from it', async () => {
  const t = await testApp()
  const file = diskOf(2 * MIB)
  const id = await announced(t, file.length, { os_family: 'debian', default_username: 'ann' })
  expect(await send(t, id, file.subarray(0, MIB), 0)).toMatchObject({
    status: 200,
    body: { status: 'uploading', uploaded_bytes: MIB, content_bytes: 2 * MIB },
  })
  const early = await t.call('POST', `/images/${id}/import`, {})
  expect(early).toMatchObject({ status: 409, body: { code: 'upload_offset', uploaded_bytes: MIB } })
  expect(await send(t, id, file.subarray(0, MIB), 0)).toMatchObject({
    status: 409,
    body: { code: 'upload_offset', uploaded_bytes: MIB, detail: expect.stringContaining('Upload-Offset') },
  })
  expect((await send(t, id, file, MIB)).body.code).toBe('payload_too_large')
  expect((await send(t, id, file.subarray(MIB), MIB)).body.uploaded_bytes).toBe(2 * MIB)
  const begun = await t.call('POST', `/images/${id}/import`, { sha256: hashOf(file) })
  expect(begun).toMatchObject({ status: 202, body: { status: 'importing' } })
  await t.finish()
  const operation = await t.call('GET', `/operations/${begun.body.operation_id}`)
  expect(operation.body).toMatchObject({ status: 'succeeded', type: 'import', subject_id: id })
  expect(await image(t, id)).toMatchObject({
    ...{ status: 'available', min_disk_gb: 1, os_family: 'debian', default_username: 'ann', size_gb: 1 },
  })
  expect((await send(t, id, file, 0)).body.code).toBe('image_not_uploading')
  const { template_id: _, ...order } = await orderOf(t.call, { image_id: id })
  const server = await make(t, { ...order, template_id: undefined })
  const { body } = await t.call('GET', `/servers/${server}/details`)
  expect(body.ssh.username).toBe('ann')
})

test('a file that can not be used says why in the image, which costs nothing and leaves nothing', async () => {
  const t = await testApp()
  const file = diskOf(MIB)
  const wrong = await uploaded(t, file, hashOf(Buffer.from('another')))
  expect((await image(t, wrong)).status_reason).toMatch(/SHA-256 .* Upload it again/)
  const backed = Buffer.alloc(MIB)
  backed.write('QFI\xfb', 'latin1')
  backed.writeUInt32BE(3, 4)
  backed.writeUInt32BE(1, 12)
  const hostile = await image(t, await uploaded(t, backed))
  expect(hostile).toMatchObject({ status: 'error', price_month_rub: '0.00', size_gb: null })
  expect(hostile.status_reason).toMatch(/refers to a backing file. Flatten it first: qemu-img convert/)
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
})

test('requests for images say what is missing and what excludes each other', async () => {
  const t = await testApp()
  const { zone_slug } = await orderOf(t.call)
  const refused = async (body: object) => {
    const reply = await t.call('POST', '/images', { name: 'own', ...body })
    return issues(reply.body).map(([pointer, code]) => `${pointer.slice(1)} ${code}`)
  }
  expect(await refused({})).toEqual(['snapshot_id required'])
  expect(await refused({ upload: true })).toEqual(['zone_slug required', 'content_bytes required'])
  const url = 'https://example.com/disk.qcow2'
  expect(await refused({ url, upload: true, zone_slug, content_bytes: 512 })).toEqual([
    'url mutually_exclusive',
  ])
  expect(await refused({ url, zone_slug: 'nowhere' })).toEqual(['zone_slug not_found'])
  for (const place of [
    'http://127.0.0.1/x',
    'http://[::ffff:10.0.0.1]/x',
    'http://db.internal/x',
    'ftp://a.example',
  ])
    expect(await refused({ url: place, zone_slug })).toEqual(['url invalid_format'])
  const id = await announced(t, MIB)
  const part = diskOf(MIB)
  expect((await send(t, id, part, 'x')).body.errors).toMatchObject([{ in: 'header', field: 'Upload-Offset' }])
  const json = { 'content-type': 'application/json' }
  expect((await send(t, id, Buffer.from('{}'), 0, json)).status).toBe(415)
  expect((await send(t, id, Buffer.alloc(17 * MIB), 0)).body.code).toBe('payload_too_large')
  const elsewhere = await t.app.http.inject({
    ...{ method: 'PATCH', url: `/v1/images/${id}`, payload: part },
    headers: { authorization: `Bearer ${t.token}`, 'content-type': 'application/octet-stream' },
  })
  expect(elsewhere.json().code).toBe('unsupported_media_type')
})

test('the files of an account are bounded, and an upload that nobody continues is deleted', async () => {
  const t = await testApp({ balance: '0' })
  const { zone_slug } = await orderOf(t.call)
  const body = { name: 'own', upload: true, content_bytes: 11 * 2 ** 30, zone_slug }
  expect((await t.call('POST', '/images', body)).body).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'image_files_gb', limit: 10, used: 0, requested: 11 },
  })
  const id = await announced(t, MIB)
  await t.clock.advance(2 * DAY_MS)
  await send(t, id, diskOf(512), 0)
  await t.clock.advance(2 * DAY_MS)
  await t.app.retention.look()
  expect((await image(t, id)).uploaded_bytes).toBe(512)
  await t.clock.advance(2 * DAY_MS)
  await t.app.retention.look()
  expect((await t.call('GET', `/images/${id}`)).status).toBe(404)
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
})

test('an upload continues after its host had no room, and begins again where the host lost it', async () => {
  const t = await testApp()
  const file = diskOf(2 * MIB)
  const id = await announced(t, file.length)
  t.driver.failNext('receive', new DriverError('disk_full', 'full'))
  expect((await send(t, id, file.subarray(0, MIB), 0)).body.code).toBe('backend_unavailable')
  await send(t, id, file.subarray(0, MIB), 0)
  t.driver.failNext('receive', new DriverError('not_found', 'lost'))
  expect((await send(t, id, file.subarray(MIB), MIB)).body.uploaded_bytes).toBe(0)
  expect((await send(t, id, file, 0)).status).toBe(200)
})

test('a part that reaches the host after the file became an image leaves the image as it is', async () => {
  const t = await testApp()
  const file = diskOf(MIB)
  const id = await announced(t, file.length)
  const receive = t.driver.receive.bind(t.driver)
  const [begun, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  vi.spyOn(t.driver, 'receive').mockImplementationOnce(async (...part) => {
    begun.resolve()
    await late.promise
    return receive(...part)
  })
  const first = send(t, id, file, 0)
  await begun.promise
  expect((await send(t, id, file, 0)).status).toBe(200)
  await t.call('POST', `/images/${id}/import`, {})
  await t.finish()
  late.resolve()
  expect((await first).body.code).toBe('image_not_uploading')
  expect((await image(t, id)).status).toBe('available')
  expect([...(await t.driver.listSnapshots())]).toMatchObject([[id, { isReady: true }]])
})

test('an upload that its customer continues at the last moment is not deleted as idle', async () => {
  const t = await testApp()
  const file = diskOf(MIB)
  const id = await announced(t, file.length)
  t.clock.advance(4 * DAY_MS)
  beforeNextTransaction(t.db, () => send(t, id, file, 0))
  expect(await dropIdleUploads(t.db, t.clock.now() - 3 * DAY_MS, 10)).toBe(1)
  expect(await image(t, id)).toMatchObject({ status: 'uploading', uploaded_bytes: MIB })
})

test('a request that learns late that the host had lost the file begins no upload again', async () => {
  const t = await testApp()
  const file = diskOf(MIB)
  const id = await announced(t, file.length)
  const [begun, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  vi.spyOn(t.driver, 'receive').mockImplementationOnce(async () => {
    begun.resolve()
    await late.promise
    throw new DriverError('not_found', 'lost')
  })
  const first = send(t, id, file, 0)
  await begun.promise
  expect((await send(t, id, file, 0)).body.uploaded_bytes).toBe(MIB)
  late.resolve()
  expect((await first).body).toMatchObject({ code: 'upload_offset', uploaded_bytes: MIB })
  expect((await image(t, id)).uploaded_bytes).toBe(MIB)
})

/** A server of files, of which a test decides how it replies. */
async function fileServer(answer: (request: IncomingMessage, reply: ServerResponse) => void) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('it listens nowhere')
  return `http://127.0.0.1:${address.port}`
}

function sendRange(file: Buffer, { headers }: IncomingMessage, reply: ServerResponse): void {
  const [, from = '0', to = '0'] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
  const part = file.subarray(Number(from), Number(to) + 1)
  const range = `bytes ${from}-${Number(from) + part.length - 1}/${file.length}`
  reply.writeHead(206, { 'content-range': range, 'content-length': part.length, etag: '"1"' }).end(part)
}

/** Makes an image from a file at an address, and waits for the end. */
async function fetched(t: TestApp, url: string, more: object = {}) {
  const { zone_slug } = await orderOf(t.call)
  const { status, body } = await t.call('POST', '/images', { name: 'own', url, zone_slug, ...more })
  expect([status, body.status]).toEqual([202, 'importing'])
  await t.finish()
  return image(t, body.image_id)
}

test('a file is fetched in parts from its address, through redirects and failures', async () => {
  const t = await testApp({ downloadAllow: [LOOPBACK] })
  const file = diskOf(20 * MIB)
  let requests = 0
  const base = await fileServer((request, reply) => {
    requests += 1
    if (request.url === '/latest') reply.writeHead(302, { location: '/disk.raw' }).end()
    else if (requests === 4) reply.destroy()
    else sendRange(file, request, reply)
  })
  const made = await fetched(t, `${base}/latest`)
  expect(made).toMatchObject({ status: 'available', content_bytes: file.length, min_disk_gb: 1 })
  expect(requests).toBe(8)
})

test('an address that leads to the host or a private network, sends no parts or another file is refused', async () => {
  const t = await testApp({ downloadAllow: [LOOPBACK] })
  const file = diskOf(20 * MIB)
  let times = 0
  const base = await fileServer((request, reply) => {
    times += 1
    const place = request.url ?? ''
    if (place.startsWith('/to/')) reply.writeHead(302, { location: decodeURIComponent(place.slice(4)) }).end()
    else if (place === '/x') reply.writeHead(302, { location: '/x' }).end()
    else if (place === '/whole') reply.writeHead(200, { 'content-length': file.length }).end(file)
    else if (place === '/missing') reply.writeHead(404).end()
    else sendRange(place === '/changing' && times > 1 ? file.subarray(1) : file, request, reply)
  })
  const reasonOf = async (place: string) => {
    times = 0
    const { status, status_reason } = await fetched(t, `${base}${place}`)
    expect(status, place).toBe('error')
    return status_reason
  }
  for (const inner of [
    'http://169.254.169.254/meta',
    'http://127.0.0.2/x',
    'file:///etc/passwd',
    'http://[::1]/x',
  ])
    expect(await reasonOf(`/to/${encodeURIComponent(inner)}`)).toMatch(/public internet|not one of the web/)
  expect(await reasonOf('/whole')).toMatch(/Download the file and upload it/)
  expect(await reasonOf('/missing')).toBe('The server replied with the status 404.')
  expect(await reasonOf('/changing')).toMatch(/changed while it was fetched/)
  expect(await reasonOf('/to/x')).toMatch(/redirects too often/)
})

test('a name that leads to a private address when it is fetched is refused then', async () => {
  const t = await testApp({ lookup: async () => [{ address: '10.0.0.1', family: 4 }] })
  const made = await fetched(t, 'https://rebound.example/disk')
  expect(made).toMatchObject({
    status: 'error',
    status_reason: 'The address of the host is not on the public internet.',
  })
})

test('the balance must cover an image that is fetched, once the size of its file is known', async () => {
  const price = 'disk_gb_month_rub: "6.00",'
  const text = catalogText.replaceAll(price, `${price} snapshot_gb_month_rub: "30.00",`)
  const catalog = parseCatalog(text, 'catalog.yaml')
  const t = await testApp({ downloadAllow: [LOOPBACK], balance: '0.50', catalog })
  const file = diskOf(20 * MIB)
  const base = await fileServer((request, reply) => sendRange(file, request, reply))
  const { zone_slug } = await orderOf(t.call)
  const { body } = await t.call('POST', '/images', { name: 'own', url: `${base}/disk`, zone_slug })
  await t.finish()
  const failed = await image(t, body.image_id)
  expect(failed).toMatchObject({
    status: 'error',
    status_reason: expect.stringContaining('Top up the balance'),
  })
})
