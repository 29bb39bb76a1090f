import type { Iso } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { nothingToChange } from './errors.ts'
import { idOf } from './find.ts'
import { uploadFile } from './image-upload.ts'
import type { Columns } from './output.ts'
import { placeOf } from './place.ts'
import { isoKind } from './server/iso-kind.ts'
import { action, listCommand, type Session } from './session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from './wait.ts'

const columns = {
  id: ({ iso_id }) => iso_id,
  name: ({ name }) => name,
  slug: ({ slug }) => slug,
  type: ({ type }) => type,
  status: ({ status }) => status,
  reason: ({ status_reason }) => status_reason,
  zone: ({ zone_slug }) => zone_slug,
  size_gb: ({ size_gb }) => size_gb,
  content_bytes: ({ content_bytes }) => content_bytes,
  uploaded_bytes: ({ uploaded_bytes }) => uploaded_bytes,
  price_month: ({ price_month_rub }) => price_month_rub,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Iso>

export function isoCommand(): Command {
  return new Command('iso')
    .description('manage ISO images for the drives of servers')
    .addCommand(
      listCommand({
        description: 'list ISOs: your own, newest first, and those of the operator',
        columns,
        shown: ['id', 'name', 'slug', 'status', 'zone', 'size_gb', 'price_month', 'created'],
        items: ({ berth }) => berth.isos.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(uploadCommand())
    .addCommand(updateCommand())
    .addCommand(deleteCommand(isoKind, 'delete an ISO', (berth, id) => berth.isos.delete(id)))
}

function showIso({ show }: Session, iso: Iso): Promise<void> {
  return show(iso, {
    ID: columns.id,
    Name: columns.name,
    Slug: columns.slug,
    Type: columns.type,
    Status: columns.status,
    Reason: columns.reason,
    Zone: columns.zone,
    'Size in GB': columns.size_gb,
    'Price per month': columns.price_month,
    Created: columns.created,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show an ISO')
    .argument('<iso>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showIso(session, await berth.isos.get(await idOf(berth, isoKind, given)))
      }),
    )
}

interface FileOptions extends WaitOptions {
  zone?: string
}

function createCommand(): Command {
  return addWaitOptions(
    new Command('create')
      .description('fetch an ISO from a public address')
      .argument('<name>', 'name of the ISO')
      .requiredOption('--from-url <address>', 'address of the ISO')
      .option('--sha256 <hash>', 'SHA-256 that the file must have')
      .option('--zone <zone>', 'zone of the ISO (default: the first one)'),
  ).action(
    action(async (session, name: string, options: FileOptions & { fromUrl: string; sha256?: string }) => {
      const { berth } = session
      const { fromUrl: url, sha256, zone } = options
      const { zone_slug } = await placeOf(berth, { zone })
      const body = { name, url, zone_slug, ...(sha256 && { sha256 }) }
      await showMade(session, await berth.isos.create(body), options)
    }),
  )
}

function uploadCommand(): Command {
  return addWaitOptions(
    new Command('upload')
      .description('upload an ISO; repeat it to continue after a failure')
      .argument('<file>', 'file of this machine')
      .option('--name <name>', 'name of the ISO (default: that of the file)')
      .option('--zone <zone>', 'zone of the ISO (default: the first one)'),
  ).action(
    action(async (session, file: string, options: FileOptions & { name?: string }) => {
      const { isos } = session.berth
      const { zone_slug } = await placeOf(session.berth, { zone: options.zone })
      const iso = await uploadFile(session, file, options.name, {
        all: () => isos.listAll(),
        create: (facts) => isos.create({ ...facts, zone_slug }),
        id: ({ iso_id }) => iso_id,
        upload: isos.upload,
        import: isos.import,
      })
      await showMade(session, iso, options)
    }),
  )
}

/** Waits for an ISO if that is wanted, and prints it. */
async function showMade(session: Session, begun: Iso, options: WaitOptions): Promise<void> {
  const { berth } = session
  if (!wantsWait(session, options) || begun.operation_id === null) return showIso(session, begun)
  await waitFor(session, await berth.operations.get(begun.operation_id))
  await showIso(session, await berth.isos.get(begun.iso_id))
}

function updateCommand(): Command {
  return new Command('update')
    .description('rename an ISO')
    .argument('<iso>', 'name or id')
    .option('--name <name>', 'new name')
    .action(
      action(async (session, given: string, change: { name?: string }) => {
        const { berth } = session
        if (change.name === undefined) throw nothingToChange('ISO')
        await showIso(session, await berth.isos.update(await idOf(berth, isoKind, given), change))
      }),
    )
}
