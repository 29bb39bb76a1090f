import type { Database } from '../../../api/database/database.ts'
import type { Driver } from '../../../api/drivers/driver.ts'

/** The service's parts that a scenario can use. */
export interface Stage {
  db: Database
  driver: Driver
  /** The template that servers are created from. */
  templateId: string | undefined
  /** A file that images are fetched from. */
  fileUrl: string | undefined
  zone: string
  /** POST /servers; @returns the server's id */
  create(more?: Record<string, unknown>): Promise<string>
  /** POST /volumes; @returns the volume's id */
  volume(): Promise<string>
  act(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: Record<string, unknown>): Promise<void>
  /** Begins the backups that are due. */
  backUp(): Promise<void>
  /** Waits until no work is left. */
  settle(): Promise<void>
}

/**
 * The scenarios, which together run every step of every operation. Each prepares a server, and returns the request
 * that begins the operation.
 */
export const scenarios: Record<string, (stage: Stage) => Promise<() => Promise<unknown>>> = {
  create: async (stage) => () => stage.create(),
  start: async (stage) => {
    const id = await made(stage, { start_on_create: false })
    return () => stage.act('POST', `/servers/${id}/start`)
  },
  'start of a server whose create failed': async (stage) => {
    const id = await madeWithoutMachine(stage)
    return () => stage.act('POST', `/servers/${id}/start`)
  },
  stop: async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/stop`)
  },
  'forced stop': async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/stop`, { force: true })
  },
  reboot: async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/reboot`)
  },
  'forced reboot': async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/reboot`, { force: true })
  },
  'reboot of a server whose create failed': async (stage) => {
    const id = await madeWithoutMachine(stage)
    return () => stage.act('POST', `/servers/${id}/reboot`)
  },
  resize: async (stage) => {
    const id = await made(stage, { start_on_create: false })
    return () => stage.act('PATCH', `/servers/${id}`, { cpu: 2, ram_mb: 1024, disk_gb: 20 })
  },
  'grow a disk': async (stage) => {
    const id = await made(stage)
    return () => stage.act('PATCH', `/servers/${id}`, { disk_gb: 20 })
  },
  rebuild: async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/rebuild`, { template_id: stage.templateId })
  },
  snapshot: async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', '/snapshots', { server_id: id })
  },
  backup: async (stage) => {
    const id = await made(stage, { backups_enabled: true })
    return async () => {
      await stage.db.updateTable('servers').set({ backup_due_at: 0 }).where('server_id', '=', id).execute()
      await stage.backUp()
    }
  },
  restore: async (stage) => {
    const id = await made(stage)
    await stage.act('POST', '/snapshots', { server_id: id })
    await stage.settle()
    const copies = stage.db.selectFrom('snapshots').select('snapshot_id').where('server_id', '=', id)
    const { snapshot_id } = await copies.executeTakeFirstOrThrow()
    return () => stage.act('POST', `/servers/${id}/restore`, { snapshot_id })
  },
  'image of a snapshot': async (stage) => {
    const id = await made(stage)
    await stage.act('POST', '/snapshots', { server_id: id })
    await stage.settle()
    const copies = stage.db.selectFrom('snapshots').select('snapshot_id').where('server_id', '=', id)
    const { snapshot_id } = await copies.executeTakeFirstOrThrow()
    return () => stage.act('POST', '/images', { name: 'golden', snapshot_id })
  },
  'image from an address': async (stage) => () =>
    stage.act('POST', '/images', { name: 'fetched', url: stage.fileUrl, zone_slug: stage.zone }),
  'reset password': async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/reset_password`)
  },
  rescue: async (stage) => {
    const id = await made(stage)
    return () => stage.act('POST', `/servers/${id}/rescue`)
  },
  unrescue: async (stage) => {
    const id = await made(stage)
    await stage.act('POST', `/servers/${id}/rescue`)
    await stage.settle()
    return () => stage.act('POST', `/servers/${id}/unrescue`)
  },
  'attach a volume': async (stage) => {
    const [server_id, id] = [await made(stage), await stage.volume()]
    return () => stage.act('POST', `/volumes/${id}/attach`, { server_id })
  },
  'detach a volume': async (stage) => {
    const id = await attachedVolume(stage)
    return () => stage.act('POST', `/volumes/${id}/detach`)
  },
  'grow a volume': async (stage) => {
    const id = await attachedVolume(stage)
    return () => stage.act('PATCH', `/volumes/${id}`, { size_gb: 2 })
  },
  'delete a volume': async (stage) => {
    const id = await attachedVolume(stage)
    await stage.act('POST', `/volumes/${id}/detach`)
    await stage.settle()
    return () => stage.act('DELETE', `/volumes/${id}`)
  },
  'start of a server with a volume': async (stage) => {
    const server_id = await made(stage, { start_on_create: false })
    await attachedVolume(stage, server_id)
    return () => stage.act('POST', `/servers/${server_id}/start`)
  },
  'delete of a server with a volume': async (stage) => {
    const server_id = await made(stage)
    await attachedVolume(stage, server_id)
    return () => stage.act('DELETE', `/servers/${server_id}`)
  },
  delete: async (stage) => {
    const id = await made(stage)
    return () => stage.act('DELETE', `/servers/${id}`)
  },
}

async function made(stage: Stage, more: Record<string, unknown> = {}): Promise<string> {
  const id = await stage.create(more)
  await stage.settle()
  return id
}

async function attachedVolume(stage: Stage, server?: string): Promise<string> {
  const [server_id, id] = [server ?? (await made(stage)), await stage.volume()]
  await stage.act('POST', `/volumes/${id}/attach`, { server_id })
  await stage.settle()
  return id
}

/** Leaves a server like a create that failed before there was a disk. */
async function madeWithoutMachine(stage: Stage): Promise<string> {
  const id = await made(stage)
  await stage.driver.destroy(id)
  await stage.db
    .updateTable('servers')
    .set({ status: 'error', status_reason: 'image_unavailable', has_disk: 0, started_at: null })
    .where('server_id', '=', id)
    .execute()
  return id
}
