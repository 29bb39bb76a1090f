import type { Image } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { nothingToChange } from './errors.ts'
import { idOf } from './find.ts'
import type { Columns } from './output.ts'
import { imageKind } from './server/image-kind.ts'
import { snapshotKind } from './server/snapshot-kind.ts'
import { action, listCommand, type Session } from './session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from './wait.ts'

const columns = {
  id: ({ image_id }) => image_id,
  name: ({ name }) => name,
  status: ({ status }) => status,
  reason: ({ status_reason }) => status_reason,
  zone: ({ zone_slug }) => zone_slug,
  os_family: ({ os_family }) => os_family,
  user: ({ default_username }) => default_username,
  size_gb: ({ size_gb }) => size_gb,
  min_disk_gb: ({ min_disk_gb }) => min_disk_gb,
  price_month: ({ price_month_rub }) => price_month_rub,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Image>

export function imageCommand(): Command {
  return new Command('image')
    .description('manage images of your own, to create servers from')
    .addCommand(
      listCommand({
        description: 'list images, newest first',
        columns,
        shown: ['id', 'name', 'status', 'zone', 'size_gb', 'min_disk_gb', 'price_month', 'created'],
        items: ({ berth }) => berth.images.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(
      deleteCommand(imageKind, 'delete an image, or cancel one that is being made', (berth, id) =>
        berth.images.delete(id),
      ),
    )
}

function showImage({ show }: Session, image: Image): Promise<void> {
  return show(image, {
    ID: columns.id,
    Name: columns.name,
    Status: columns.status,
    Reason: columns.reason,
    Zone: columns.zone,
    'OS family': columns.os_family,
    User: columns.user,
    'Size in GB': columns.size_gb,
    'Smallest disk in GB': columns.min_disk_gb,
    'Price per month': columns.price_month,
    Created: columns.created,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show an image')
    .argument('<image>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showImage(session, await berth.images.get(await idOf(berth, imageKind, given)))
      }),
    )
}

function createCommand(): Command {
  return addWaitOptions(
    new Command('create')
      .description('make an image from a snapshot')
      .argument('<name>', 'name of the image')
      .requiredOption('--snapshot <snapshot>', 'snapshot to make it from, by name or id'),
  ).action(
    action(async (session, name: string, { snapshot, ...options }: { snapshot: string } & WaitOptions) => {
      const { berth } = session
      const snapshot_id = await idOf(berth, snapshotKind, snapshot)
      const begun = await berth.images.create({ name, snapshot_id })
      if (!wantsWait(session, options) || begun.operation_id === null) return showImage(session, begun)
      await waitFor(session, await berth.operations.get(begun.operation_id))
      await showImage(session, await berth.images.get(begun.image_id))
    }),
  )
}

function updateCommand(): Command {
  return new Command('update')
    .description('rename an image')
    .argument('<image>', 'name or id')
    .option('--name <name>', 'new name')
    .action(
      action(async (session, given: string, change: { name?: string }) => {
        const { berth } = session
        if (change.name === undefined) throw nothingToChange('image')
        await showImage(session, await berth.images.update(await idOf(berth, imageKind, given), change))
      }),
    )
}
