import type { Image } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { Refusal } from './errors.ts'
import { idOf } from './find.ts'
import { addFileOptions, type FileOptions, systemOf, uploadImage } from './image-upload.ts'
import { type Labels, labelText, withLabelFilter, withLabels } from './labels.ts'
import type { Columns } from './output.ts'
import { imageKind } from './server/image-kind.ts'
import { snapshotKind } from './server/snapshot-kind.ts'
import { action, listCommand, type Session } from './session.ts'
import { updateCommand } from './update.ts'
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
  content_bytes: ({ content_bytes }) => content_bytes,
  uploaded_bytes: ({ uploaded_bytes }) => uploaded_bytes,
  off_site: ({ offsite_at }) => offsite_at,
  price_month: ({ price_month_rub }) => price_month_rub,
  labels: labelText,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Image>

export function imageCommand(): Command {
  return new Command('image')
    .description('manage images of your own, to create servers from')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list images, newest first',
          columns,
          shown: ['id', 'name', 'status', 'zone', 'size_gb', 'min_disk_gb', 'price_month', 'created'],
          items: async ({ berth }, { label }: { label?: string }) => berth.images.listAll({ label }),
        }),
        'images',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(uploadCommand())
    .addCommand(
      updateCommand(
        imageKind,
        'change the name and labels of an image',
        (berth, id, change) => berth.images.update(id, change),
        showImage,
      ),
    )
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
    'Off site': columns.off_site,
    'Price per month': columns.price_month,
    Labels: labelText,
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

interface CreateOptions extends WaitOptions, FileOptions {
  snapshot?: string
  fromUrl?: string
  label?: Labels
  sha256?: string
}

function createCommand(): Command {
  return addWaitOptions(
    addFileOptions(
      withLabels(
        new Command('create')
          .description('make an image from a snapshot, or from a file at a public address')
          .argument('<name>', 'name of the image')
          .option('--snapshot <snapshot>', 'snapshot to make it from, by name or id')
          .option('--from-url <address>', 'address of a qcow2, raw, VMDK, VHD or VHDX disk')
          .option('--sha256 <hash>', 'SHA-256 that the file at the address must have'),
      ),
    ),
  ).action(
    action(async (session, name: string, options: CreateOptions) => {
      const { berth } = session
      const { snapshot, fromUrl: url, sha256, label: labels } = options
      if ((snapshot === undefined) === (url === undefined))
        throw new Refusal(
          'Give either --snapshot or --from-url.',
          'For a file of this machine, use: berth image upload <file>',
        )
      const source =
        snapshot === undefined
          ? { ...(url && { url }), ...(sha256 && { sha256 }), ...(await systemOf(session, options)) }
          : { snapshot_id: await idOf(berth, snapshotKind, snapshot) }
      await showMade(session, await berth.images.create({ name, labels, ...source }), options)
    }),
  )
}

function uploadCommand(): Command {
  return addWaitOptions(
    addFileOptions(
      new Command('upload')
        .description(
          'make an image from a file: a qcow2, raw, VMDK, VHD or VHDX disk; repeat it to continue after a failure',
        )
        .argument('<file>', 'file of this machine')
        .option('--name <name>', 'name of the image (default: that of the file)'),
    ),
  ).action(
    action(async (session, file: string, options: WaitOptions & FileOptions & { name?: string }) => {
      await showMade(session, await uploadImage(session, file, options), options)
    }),
  )
}

/** Waits for an image if that is wanted, and prints it. */
async function showMade(session: Session, begun: Image, options: WaitOptions): Promise<void> {
  const { berth } = session
  if (!wantsWait(session, options) || begun.operation_id === null) return showImage(session, begun)
  await waitFor(session, await berth.operations.get(begun.operation_id))
  await showImage(session, await berth.images.get(begun.image_id))
}
