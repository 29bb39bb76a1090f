import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { SshKey } from '../accounts/schema.ts'
import { missing } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { changing, Labels, type Resource, reading, requireFree } from './resources.ts'

function keyView(x: Exchange, { ssh_key_id, name, public_key, labels, created_at }: SshKey): Listed {
  // These clients compare keys by the older form of fingerprints.
  const digest = createHash('md5')
    .update(Buffer.from(public_key.split(' ')[1] ?? '', 'base64'))
    .digest('hex')
  const fingerprint = digest.replaceAll(/..(?=.)/g, '$&:')
  return Object.assign(
    { id: x.ref('ssh_key', ssh_key_id), name, labels, created: created_at },
    { fingerprint, public_key },
  )
}

const keys: Resource = {
  ...{ kind: 'ssh_key', one: 'ssh_key', many: 'ssh_keys' },
  all: async (x) => {
    const wanted = x.query.get('fingerprint')
    const all = (await x.all<SshKey>('listSshKeys')).map((key) => keyView(x, key))
    return wanted === null ? all : all.filter((key) => 'fingerprint' in key && key.fingerprint === wanted)
  },
  find: async (x, id) => keyView(x, await x.v1<SshKey>('getSshKey', { params: { ssh_key_id: id } })),
}

/** Returns the ids of the keys that a request names by number or name. @throws ApiError not_found */
export async function keyIds(x: Exchange, given: readonly (string | number)[]): Promise<string[]> {
  if (given.length === 0) return []
  const all = await x.all<SshKey>('listSshKeys')
  return Promise.all(
    given.map(async (one) => {
      const named = all.find(({ name }) => name === one)
      if (named) return named.ssh_key_id
      const id = await x.idOf('ssh_key', one)
      if (all.some(({ ssh_key_id }) => ssh_key_id === id)) return id
      throw missing('ssh_key', one)
    }),
  )
}

export const sshKeyRoutes: HcloudRoute[] = [
  ...reading(keys),
  answer({
    method: 'POST',
    path: '/ssh_keys',
    body: Type.Object({ name: Type.String(), public_key: Type.String(), labels: Labels }),
    run: async (x, { name, public_key, labels = {} }) => {
      await requireFree(x, keys, name)
      return { ssh_key: keyView(x, await x.v1<SshKey>('addSshKey', { body: { name, public_key, labels } })) }
    },
  }),
  ...changing(keys, { param: 'ssh_key_id', update: 'updateSshKey', remove: 'deleteSshKey' }),
]
