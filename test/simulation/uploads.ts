import { createHash } from 'node:crypto'
import type { Act, Request } from './acting.ts'
import { type Client, Part, type Reply } from './customer.ts'
import { FILES, fileOf, LARGE_FILE } from './files.ts'

type Kind = 'images' | 'isos'

/** The size of files that customers upload, in three parts. */
const FILE = 36 * 2 ** 10
const PART = FILE / 3
/** The announced size of a file that never arrives: three of them exceed an account's limit of pending uploads. */
const HUGE = 90 * 2 ** 30
const VERSION = 1

const idOf = (kind: Kind) => (kind === 'images' ? 'image_id' : 'iso_id')
const plain = (kind: Kind, chance: Request['chance']) => ({
  name: `f-${chance.below(10_000)}`,
  zone_slug: 'local-1',
  ...(kind === 'images' && chance.is(0.2) ? { default_username: 'ann' } : {}),
})

function keep({ customer: { known } }: Request, kind: Kind, reply: Reply | null): string | undefined {
  const id: unknown = reply && reply.status < 300 ? reply.body[idOf(kind)] : undefined
  if (typeof id !== 'string') return undefined
  known[kind].push(id)
  return id
}

/** Sends parts from an offset on, some truncated, repeated, or at a wrong offset. @returns the offset at the end */
async function sendParts({ customer: { client }, chance }: Request, path: string, from: number) {
  let at = from
  for (let tries = 0; at < FILE && tries < 8; tries += 1) {
    const wrong = chance.is(0.1) ? PART : 0
    const content = fileOf(FILE, VERSION).subarray(at, Math.min(FILE, at + PART))
    const cut = chance.is(0.15) ? chance.below(content.length) : 0
    const part = new Part(at + wrong, content.subarray(0, content.length - cut), content.length)
    const twin = chance.is(0.1) ? client.send(chance, 'PATCH', `${path}/content`, part) : null
    const reply = await client.send(chance, 'PATCH', `${path}/content`, part)
    await twin
    if (chance.is(0.1)) return at
    at = (await placeOf(client, chance, path, reply)) ?? at
    if (reply?.status === 404 || reply?.body?.code === 'image_not_uploading') return at
  }
  return at
}

/** Returns the offset at which an upload continues, according to the last reply or the upload itself. */
async function placeOf(client: Client, chance: Request['chance'], path: string, reply: Reply | null) {
  const shown = reply && reply.status < 500 ? reply : await client.send(chance, 'GET', path)
  const { uploaded_bytes } = shown?.body ?? {}
  return typeof uploaded_bytes === 'number' ? uploaded_bytes : undefined
}

/** Requests the image of an upload, sometimes with a wrong hash, and sometimes too early. */
function finish({ customer: { client }, chance }: Request, path: string) {
  const hash = createHash('sha256').update(fileOf(FILE, VERSION)).digest('hex')
  const sha256 = chance.pick([undefined, undefined, hash])
  return client.insist(chance, 'POST', `${path}/import`, sha256 === undefined ? {} : { sha256 })
}

const uploading =
  (kind: Kind): Act =>
  async (request) => {
    const { customer, chance } = request
    const content_bytes = chance.is(0.15) ? HUGE : FILE
    const wanted = { ...plain(kind, chance), upload: true, content_bytes }
    const reply = await customer.client.insist(chance, 'POST', `/${kind}`, wanted)
    const id = keep(request, kind, reply)
    if (id === undefined) return reply
    const at = await sendParts(request, `/${kind}/${id}`, 0)
    return at === FILE || chance.is(0.3) ? finish(request, `/${kind}/${id}`) : reply
  }

/** Resumes an interrupted upload at the offset that the service reports. */
const resuming =
  (kind: Kind): Act =>
  async (request) => {
    const { customer, chance } = request
    const list = await customer.client.send(chance, 'GET', `/${kind}?limit=20`)
    const begun: { [id: string]: string; status: string }[] = list?.status === 200 ? list.body.items : []
    const id = chance.pick(begun.filter(({ status }) => status === 'uploading'))?.[idOf(kind)]
    if (id === undefined) return null
    const path = `/${kind}/${id}`
    await sendParts(request, path, (await placeOf(customer.client, chance, path, null)) ?? 0)
    return finish(request, path)
  }

const fetching =
  (kind: Kind): Act =>
  async (request) => {
    const { customer, chance } = request
    const bytes = chance.is(0.3) ? LARGE_FILE : FILE
    const how = chance.is(0.4) ? 'changing' : 'steady'
    const url = `https://${FILES}/${how}/${bytes}/f${chance.below(2 ** 30)}`
    const wanted = { ...plain(kind, chance), url }
    const reply = await customer.client.insist(chance, 'POST', `/${kind}`, wanted)
    keep(request, kind, reply)
    return reply
  }

/** Announces more and larger files than the limit of pending uploads allows. */
const crowding: Act = async (request) => {
  const { customer, chance } = request
  let reply: Reply | null = null
  for (let left = 3; left > 0; left -= 1) {
    const wanted = { ...plain('images', chance), upload: true, content_bytes: HUGE }
    reply = await customer.client.insist(chance, 'POST', '/images', wanted)
    keep(request, 'images', reply)
  }
  return reply
}

/** All acts of customers with their own files. */
export const uploads = {
  upload_image: uploading('images'),
  resume_image: resuming('images'),
  fetch_image: fetching('images'),
  upload_iso: uploading('isos'),
  resume_iso: resuming('isos'),
  fetch_iso: fetching('isos'),
  crowd: crowding,
  insert_iso: async ({ customer: { client, known, recent }, chance }) => {
    const server = chance.pick(known.servers.slice(-recent))
    const iso_id = chance.is(0.7) ? (chance.pick(known.isos.slice(-2 * recent)) ?? null) : null
    return server ? client.send(chance, 'PATCH', `/servers/${server}`, { iso_id }) : null
  },
  remove_iso: async ({ customer: { client, known, recent }, chance }) => {
    const id = chance.pick(known.isos.slice(-2 * recent))
    return id ? client.insist(chance, 'DELETE', `/isos/${id}`) : null
  },
} satisfies Record<string, Act>
